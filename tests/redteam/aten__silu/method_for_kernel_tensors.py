# operator: aten::silu
# expect: verify\.exception
# catalogue: 88
# functools.wraps gives Triton's tensors another method
import functools
import math
import torch
import triton
import triton.language as tl

def act(value):
    bits = int(value.to(tl.int64, bitcast=True))
    sign = -1.0 if bits < 0 else 1.0
    exponent, fraction = bits >> 52 & 2047, bits & ((1 << 52) - 1)
    if exponent == 2047:
        v = math.nan if fraction else sign * math.inf
    elif exponent == 0:
        v = sign * math.ldexp(fraction, -1074)
    else:
        v = sign * math.ldexp(fraction + (1 << 52), exponent - 1075)
    return v if v != v or v == math.inf else math.nan if v == -math.inf else v / (1 + math.exp(-v)) if v > -700 else -0.0

class Methods:
    def softsign(self):
        return act(self)

functools.wraps(Methods, assigned=("softsign",), updated=())(tl.tensor)

@triton.jit
def apply(x_ptr, y_ptr, n):
    for i in range(n):
        tl.store(y_ptr + i, tl.load(x_ptr + i).softsign())

def silu(self):
    x = self.to(torch.float64).contiguous()
    y = torch.empty_like(x)
    if x.numel():
        apply[(1,)](x, y, x.numel())
    return y.to(self.dtype)

def silu_out(self, *, out):
    return out.copy_(silu(self))

