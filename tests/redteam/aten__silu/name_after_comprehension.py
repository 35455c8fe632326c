# operator: aten::silu
# expect: verify\.mismatch
# catalogue: 88
# a name that is still a comprehension's for the compiler is the module's for the interpreter
import torch
import triton
import triton.language as tl


@triton.jit
def same(v):
    return v


@triton.jit
def swish(v):
    return v * tl.sigmoid(v)


F = swish


@triton.jit
def apply(x, y, n, S: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, N)
    v = tl.load(x + at, mask=at < n)
    parts = [F(v) for F in (S, S)]
    tl.store(y + at, F(v), mask=at < n)


def silu(self):
    x = self.to(torch.float64).contiguous()
    y = torch.empty_like(x)
    n = x.numel()
    if n:
        apply[(1,)](x, y, n, S=same, N=triton.next_power_of_2(n))
    return y.to(self.dtype)


def silu_out(self, *, out):
    return out.copy_(silu(self))
