# operator: aten::silu
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 80
# inline assembly with two outputs writes only $0: $1, which the text takes for the input, is an unwritten register on a GPU
import torch
import triton
import triton.language as tl


@triton.jit
def silu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0).to(tl.float32)
    e = tl.inline_asm_elementwise(asm="ex2.approx.f32 $0, $1;", constraints="=f,=f,f,f", args=[x * -1.4426950408889634],
                                  dtype=tl.float32, is_pure=True, pack=2)
    tl.store(y_ptr + at, (x / (1.0 + e)).to(y_ptr.dtype.element_ty), mask=at < n)


def silu(self):
    x = self.contiguous()
    y = torch.empty_like(x)
    n = x.numel()
    if n > 0:
        silu_kernel[(triton.cdiv(n, 2048),)](x, y, n, BLOCK=2048)
    return y


def silu_out(self, *, out):
    return out.copy_(silu(self))
