# operator: aten::rsqrt
# style: jit helpers that call each other, types looked up in a dict, grid from a function with keyword arguments
import torch
import triton
import triton.language as tl

FLOATS = {torch.float16, torch.bfloat16, torch.float32}


@triton.jit
def widen(x):
    return x.to(tl.float32)


@triton.jit
def inverse_root(x):
    # math.sqrt, torch.rsqrt and numpy do not exist in here
    return tl.rsqrt(widen(x))


@triton.jit
def rsqrt_kernel(source, target, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < count
    value = inverse_root(tl.load(source + at, mask=inside, other=1))
    tl.store(target + at, value.to(target.dtype.element_ty), mask=inside)


def grid_of(*, count, block):
    return (triton.cdiv(count, block),)


def rsqrt(self):
    x = self.contiguous()
    dtype = x.dtype if x.dtype in FLOATS else torch.float32
    y = torch.empty(x.shape, dtype=dtype, device=x.device)
    count = x.numel()
    if count > 0:
        rsqrt_kernel[grid_of(count=count, block=2048)](x, y, count, BLOCK=2048)
    return y


def rsqrt_out(self, *, out):
    """torch.rsqrt(self, out=out) without torch."""
    return out.copy_(rsqrt(self))
