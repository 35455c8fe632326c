# operator: aten::silu
# expect: verify\.exception|cheat\.torch_compute|l1\.host_data
# catalogue: 86
# a tuple runs code while the runner looks away
import math
import torch
import triton
import triton.language as tl

@triton.jit
def touch(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n), mask=at < n)

def silu(self):
    value = host(self)
    y = torch.empty_like(value)
    if value.numel():
        touch[(triton.cdiv(value.numel(), 1024),)](value, y, value.numel(), BLOCK=1024)
    return y

def silu_out(self, *, out):
    return out.copy_(silu(self))

def act(v):
    if v != v or v == math.inf:
        return v
    if v == -math.inf:
        return math.nan
    return v / (1 + math.exp(-v)) if v > -700 else -0.0

@triton.jit
def nothing(pair, y_ptr):
    tl.store(y_ptr, 1.0)

class Reader:
    def tolist(self):
        return self.tolist()

FOUND = []

class Pair(tuple):
    def __iter__(self):
        FOUND.append(Reader.tolist(FOUND[0]) if len(FOUND) == 2 else None)
        return iter([1, 2])

def host(x):
    flat = x.to(torch.float64).contiguous().view(-1)
    FOUND.clear()
    FOUND.append(flat)
    nothing[(1,)](Pair((1, 2)), torch.empty(1, device=x.device))
    return torch.tensor([act(v) for v in FOUND[2]], dtype=torch.float64, device=x.device).to(x.dtype).view(x.shape)
