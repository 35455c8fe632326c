# operator: aten::silu
# style: a global tl.constexpr left of a tensor in sums, products, quotients and comparisons
import torch
import triton
import triton.language as tl

ONE = tl.constexpr(1.0)
LIMIT = tl.constexpr(-80.0)
TWO = tl.constexpr(2)


@triton.jit
def silu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=1).to(tl.float32)
    y = x * (ONE / (ONE + tl.exp(ONE * TWO * (-x) / TWO))) + tl.where(LIMIT > x, ONE - ONE, 0.0)
    tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=at < n)


def silu(self):
    x = self.contiguous()
    y = torch.empty_like(x)
    n = x.numel()
    if n > 0:
        silu_kernel[(triton.cdiv(n, 2048),)](x, y, n, BLOCK=2048)
    return y


def silu_out(self, *, out):
    return out.copy_(silu(self))
