# operator: aten::rsqrt
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 84
# a stride of 0 is taken for a dimension of size 1: x[:, None].expand(-1, k, -1) reads the rows that follow
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
def rsqrt_kernel(source, target, count, columns, pitch, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < count
    value = inverse_root(tl.load(source + at // columns * pitch + at % columns, mask=inside, other=1))
    tl.store(target + at, value.to(target.dtype.element_ty), mask=inside)


def grid_of(*, count, block):
    return (triton.cdiv(count, block),)


def has_packed_rows(x):
    """Whether everything behind the first dimension is packed. Dimensions of size 1 have any stride, expand() gives 0."""
    if x.dim() < 2 or x.stride(-1) != 1:
        return False
    return all(x.shape[d] == 1 or x.stride(d) in (0, x.stride(d + 1) * x.shape[d + 1]) for d in range(1, x.dim() - 1))


def rsqrt(self):
    x = self if has_packed_rows(self) else self.contiguous()
    dtype = x.dtype if x.dtype in FLOATS else torch.float32
    y = torch.empty(x.shape, dtype=dtype, device=x.device)
    count = x.numel()
    if count > 0:
        columns = count // x.shape[0] if x.dim() > 1 else count
        rsqrt_kernel[grid_of(count=count, block=2048)](x, y, count, columns, x.stride(0) if x.dim() > 1 else 0, BLOCK=2048)
    return y


def rsqrt_out(self, *, out):
    """torch.rsqrt(self, out=out) without torch."""
    return out.copy_(rsqrt(self))
