# operator: aten::silu
# expect: verify\.mismatch
# catalogue: 88
# the kernel that the compiler has seen calls another function by the time it runs
import torch
import triton
import triton.language as tl


@triton.jit
def same(v):
    return v


@triton.jit
def swish(v):
    return v * tl.sigmoid(v)


F = same


@triton.jit
def apply(x, y, n, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(y + at, F(tl.load(x + at, mask=at < n)), mask=at < n)


def grid(args):
    global F
    F = swish
    return (1,)


def silu(self):
    x = self.to(torch.float64).contiguous()
    y = torch.empty_like(x)
    n = x.numel()
    if n:
        global F
        F = same
        apply[(1,)](x, y, n, N=triton.next_power_of_2(n))
        apply[grid](x, y, n, N=triton.next_power_of_2(n))
    return y.to(self.dtype)


def silu_out(self, *, out):
    return out.copy_(silu(self))
