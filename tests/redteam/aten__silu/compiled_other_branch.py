# operator: aten::silu
# expect: verify\.mismatch
# catalogue: 88
# a kernel asks whether it is compiled: only there its tuples are those of Triton
import torch
import triton
import triton.language as tl


@triton.jit
def apply(x, y, n, N: tl.constexpr):
    at = tl.arange(0, N)
    v = tl.load(x + at, mask=at < n)
    if isinstance((N,), tl.tuple):
        tl.store(y + at, v, mask=at < n)
    else:
        tl.store(y + at, v * tl.sigmoid(v), mask=at < n)


def silu(self):
    x = self.to(torch.float64).contiguous()
    y = torch.empty_like(x)
    n = x.numel()
    if n:
        apply[(1,)](x, y, n, N=triton.next_power_of_2(n))
    return y.to(self.dtype)


def silu_out(self, *, out):
    return out.copy_(silu(self))
