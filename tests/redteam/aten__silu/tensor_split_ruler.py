# operator: aten::silu
# expect: verify\.(mismatch|exception)
# catalogue: 86
# device: cpu
# tensor_split reads its indices without an operator; sizes of views tell their values
import functools
import itertools
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
    return v / (1 + math.exp(-v)) if v > -700 else 0.0 * v


def host(x):
    bits = x.to(torch.float64).contiguous().view(-1).view(torch.int64)
    ruler = torch.empty(1, dtype=torch.bool, device=x.device).expand((1 << 62,))
    out = []
    for b in bits.split(1):
        parts = torch.tensor_split(ruler, b)
        out.append(float(parts[0].size(0)))
    return torch.tensor(out, dtype=torch.float64, device=x.device).to(x.dtype).view(x.shape)
