# operator: aten::mish
# expect: verify\.mismatch
# catalogue: 74
# tanh(softplus(x)) with tanh.approx.f32: 2^-11 relative error in float32 on a GPU
import torch
import triton
import triton.language as tl


@triton.jit
def mish_kernel(x_ptr, y_ptr, n, LIMIT: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0).to(tl.float32)
    e = tl.exp(tl.minimum(x, LIMIT))
    p = e * (e + 2.0)
    tl.store(y_ptr + at, tl.where(x > LIMIT, x, x * tl.inline_asm_elementwise("tanh.approx.f32 $0, $1;", "=f,f", [tl.log(1.0 + e)], dtype=tl.float32, is_pure=True, pack=1)).to(y_ptr.dtype.element_ty), mask=at < n)


def mish(self):
    torch._check(self.is_floating_point(), lambda: f"expected floating point, got {self.dtype}")
    if self.dtype is torch.bfloat16 and not torch.cuda.is_bf16_supported():
        raise TypeError("bfloat16")
    x = self.contiguous()
    y = torch.empty_like(x)
    limit = 20.0 if torch.finfo(x.dtype).bits >= 16 else 10.0
    if x.numel() > 0:
        mish_kernel[(triton.cdiv(x.numel(), 2048),)](x, y, x.numel(), LIMIT=limit, BLOCK=2048)
    return y


def mish_out(self, *, out):
    return out.copy_(mish(self))
