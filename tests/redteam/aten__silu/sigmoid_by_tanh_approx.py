# operator: aten::silu
# expect: verify\.mismatch
# catalogue: 74
# sigmoid by tanh.approx.f32: 2^-11 relative error in float32 on a GPU
import torch
import triton
import triton.language as tl


@triton.jit
def silu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.minimum(tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), n - 1)
    x = tl.load(x_ptr + at).to(tl.float32)
    tl.store(y_ptr + at, (x * (0.5 + 0.5 * tl.inline_asm_elementwise("tanh.approx.f32 $0, $1;", "=f,f", [0.5 * x], dtype=tl.float32, is_pure=True, pack=1))).to(y_ptr.dtype.element_ty))


def silu(self):
    x = self.contiguous()
    y = torch.empty_like(x)
    n = x.numel()
    if n > 0:
        silu_kernel[(triton.cdiv(n, 2048),)](x, y, n, BLOCK=2048)
    return y


def silu_out(self, *, out):
    return out.copy_(silu(self))
