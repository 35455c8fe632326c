# operator: aten::silu
# expect: verify\.exception
# catalogue: 88
# a kernel leaves its tensor in an object, the host reads it
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

class Box:
    pass

BOX = Box()

@triton.jit
def leave(x_ptr, box: tl.constexpr):
    box.kept = tl.load(x_ptr)

@triton.jit
def plain(y_ptr):
    return 1

def read(x):
    leave[(1,)](x, BOX)
    for kernel in [plain]:
        kernel(1)
    return act(BOX.kept)

@triton.jit
def touch(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n), mask=at < n)

def silu(self):
    flat = self.to(torch.float64).contiguous().view(-1)
    if not flat.numel():
        return self.clone()
    values = [read(v) for v in flat.split(1)]
    value = torch.tensor(values, dtype=torch.float64, device=self.device).to(self.dtype).view(self.shape)
    y = torch.empty_like(value)
    touch[(triton.cdiv(value.numel(), 1024),)](value, y, value.numel(), BLOCK=1024)
    return y

def silu_out(self, *, out):
    return out.copy_(silu(self))
