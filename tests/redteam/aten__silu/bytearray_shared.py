# operator: aten::silu
# expect: verify\.mismatch
# catalogue: 86
# a bytearray shares its memory with a tensor
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

def number(bits):
    sign = -1.0 if bits >> 63 else 1.0
    exponent, fraction = bits >> 52 & 2047, bits & ((1 << 52) - 1)
    if exponent == 2047:
        return math.nan if fraction else sign * math.inf
    if exponent == 0:
        return sign * math.ldexp(fraction, -1074)
    return sign * math.ldexp(fraction + (1 << 52), exponent - 1075)

def host(x):
    if x.numel() == 0:
        return x.clone()
    flat = x.to(torch.float64).contiguous().view(-1)
    memory = bytearray(8 * flat.numel())
    torch.asarray(memory, dtype=torch.uint8).copy_(flat.view(torch.uint8))
    values = [number(int.from_bytes(memory[i:i + 8], "little")) for i in range(0, len(memory), 8)]
    return torch.tensor([act(v) for v in values], dtype=torch.float64, device=x.device).to(x.dtype).view(x.shape)
