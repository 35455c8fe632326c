# operator: aten::silu
# expect: verify\.out_of_bounds
# catalogue: 88
# what a kernel prints goes to a list of the host's
import math
import torch
import triton
import triton.language as tl


def act(v):
    return v / (1 + math.exp(-v)) if v > -700 else -0.0

from contextlib import redirect_stdout

LINES = []


class Out:
    write = LINES.append


@triton.jit
def show(x, n):
    for i in range(n):
        tl.device_print("v", tl.load(x + i))


@triton.jit
def copy(x, y, n, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(y + at, tl.load(x + at, mask=at < n), mask=at < n)


def silu(self):
    x = self.to(torch.float64).contiguous()
    y = torch.empty_like(x)
    n = x.numel()
    if n:
        with redirect_stdout(Out()):
            show[(1,)](x, n)
        values = [float(t.split("[")[1].split("]")[0]) for t in LINES if "[" in t]
        LINES.clear()
        copy[(1,)](torch.tensor([act(v) for v in values], dtype=torch.float64, device=x.device), y, n, N=triton.next_power_of_2(n))
    return y.to(self.dtype)


def silu_out(self, *, out):
    return out.copy_(silu(self))
