# operator: aten::silu
# expect: verify\.mismatch
# catalogue: 88
# the same in an expression and in the condition of a loop
import torch
import triton
import triton.language as tl


@triton.jit
def apply(x, y, n, N: tl.constexpr):
    at = tl.arange(0, N)
    v = tl.load(x + at, mask=at < n)
    v = v if isinstance((N,), tl.tuple) else v * tl.sigmoid(v)
    tl.store(y + at, v, mask=at < n)


def silu(self):
    x = self.to(torch.float64).contiguous()
    y = torch.empty_like(x)
    n = x.numel()
    if n:
        apply[(1,)](x, y, n, N=triton.next_power_of_2(n))
    return y.to(self.dtype)


def silu_out(self, *, out):
    return out.copy_(silu(self))
