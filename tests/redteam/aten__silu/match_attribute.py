# operator: aten::silu
# expect: verify\.host_dependent
# catalogue: 87, 93
# a class pattern reads an attribute without naming it as one
import math
import torch
import triton
import triton.language as tl



def act(v):
    return v / (1 + math.exp(-v)) if v > -700 else 0.0 * v



def host(x):
    match x.to(torch.float64).contiguous().view(-1):
        case torch.Tensor(tolist=read):
            return torch.tensor([act(v) for v in read()], dtype=torch.float64, device=x.device).to(x.dtype).view(x.shape)


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

