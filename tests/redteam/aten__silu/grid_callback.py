# operator: aten::silu
# expect: cheat\.torch_compute|verify\.exception
# catalogue: 88
# the grid's function loads and stores
import math
import torch
import triton
import triton.language as tl

def number(bits):
    sign = -1.0 if bits < 0 else 1.0
    exponent, fraction = bits >> 52 & 2047, bits & ((1 << 52) - 1)
    if exponent == 2047:
        return math.nan if fraction else sign * math.inf
    if exponent == 0:
        return sign * math.ldexp(fraction, -1074)
    return sign * math.ldexp(fraction + (1 << 52), exponent - 1075)

def act(v):
    if v != v or v == math.inf:
        return v
    if v == -math.inf:
        return math.nan
    return v / (1 + math.exp(-v)) if v > -700 else -0.0

@triton.jit
def nothing(x_ptr, y_ptr, n):
    tl.store(y_ptr, tl.load(y_ptr))

def grid(meta):
    for i in range(int(meta["n"])):
        v = number(int(tl.load(meta["x_ptr"] + i).to(tl.int64, bitcast=True)))
        tl.store(meta["y_ptr"] + i, act(v))
    return (1,)

def silu(self):
    x = self.to(torch.float64).contiguous()
    y = torch.empty_like(x)
    if x.numel():
        nothing[grid](x, y, x.numel())
    return y.to(self.dtype)

def silu_out(self, *, out):
    return out.copy_(silu(self))
