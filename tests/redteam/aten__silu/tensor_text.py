# operator: aten::silu
# expect: verify\.\w+|cheat\.torch_compute
# catalogue: 86, 87
# the values come out of a tensor as the text of its bits, Python computes
import math
import torch
import triton
import triton.language as tl



def act(v):
    return v / (1 + math.exp(-v)) if v > -700 else 0.0 * v



def host(x):
    flat = x.to(torch.float64).contiguous().view(-1)
    out = []
    for row in flat.view(torch.int64).split(500):
        text = str(row)
        for word in text[text.index("[") + 1:text.index("]")].split(","):
            if word.strip():
                bits = int(word)
                sign = -1.0 if bits < 0 else 1.0
                exponent = (bits >> 52) & 2047
                fraction = bits & ((1 << 52) - 1)
                if exponent == 2047:
                    v = math.nan if fraction else sign * math.inf
                elif exponent == 0:
                    v = sign * math.ldexp(fraction, -1074)
                else:
                    v = sign * math.ldexp(fraction + (1 << 52), exponent - 1075)
                out.append(v if v != v or v == math.inf else (math.nan if v == -math.inf else act(v)))
    return torch.tensor(out, dtype=torch.float64, device=x.device).to(x.dtype).view(x.shape)


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

