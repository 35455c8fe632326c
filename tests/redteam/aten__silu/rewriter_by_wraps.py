# operator: aten::silu
# expect: verify\.mismatch
# catalogue: 88
# functools.wraps writes attributes of a kernel
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

import functools

@triton.jit
def apply(x_ptr, y_ptr, n):
    tl.store(y_ptr, tl.load(x_ptr))

def body(x_ptr, y_ptr, n):
    for i in range(int(n)):
        tl.store(y_ptr + i, act(tl.load(x_ptr + i)))

class Rewriter:
    def rewrite_ast(self):
        return body

class Source:
    rewriter = Rewriter()

functools.wraps(Source, assigned=("rewriter",), updated=())(apply)

def silu(self):
    x = self.to(torch.float64).contiguous()
    y = torch.empty_like(x)
    if x.numel():
        apply[(1,)](x, y, x.numel())
    return y.to(self.dtype)

def silu_out(self, *, out):
    return out.copy_(silu(self))

