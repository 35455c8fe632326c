# operator: aten::softmax
# expect: verify\.(mismatch|exception)
# catalogue: 84
# outer dimensions are taken to lie one behind the other: wrong for a slice of a middle dimension (x[:, :5]) and for x.permute(1, 0, 2)
import math

import torch
import triton
import triton.language as tl

LOG2E = tl.constexpr(math.log2(math.e))


def packed(x):
    """x with its outer dimensions one behind the other in memory, as all usual layouts have them."""
    if x.dim() < 3 or x.numel() == 0 or (x.dim() == 4 and x.is_contiguous(memory_format=torch.channels_last)):
        return x
    steps = list(x.stride())
    for d in range(x.dim() - 3, -1, -1):
        if steps[d] != 0:
            steps[d] = max(step * size for step, size in zip(steps[d + 1:], x.shape[d + 1:]))
    return x.as_strided(x.shape, steps, x.storage_offset())


@triton.jit
def softmax_columns(x_ptr, y_ptr, n_outer, length, inner, BLOCK: tl.constexpr, COLS: tl.constexpr):
    WIDE: tl.constexpr = tl.float64 if x_ptr.dtype.element_ty == tl.float64 else tl.float32
    outer = tl.program_id(0)
    cols = tl.program_id(1) * COLS + tl.arange(0, COLS)
    rows = tl.arange(0, BLOCK)
    inside = (rows < length)[:, None] & (cols < inner)[None, :] & (outer < n_outer)
    at = outer * length * inner + rows[:, None] * inner + cols[None, :]
    x = tl.load(x_ptr + at, mask=inside, other=-float("inf")).to(WIDE)
    top = tl.max(x, axis=0)
    e = tl.exp2((x - top[None, :]) * LOG2E)
    e = tl.where((rows < length)[:, None], e, 0.0)
    y = e * (1.0 / tl.sum(e, axis=0))[None, :]
    tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=inside)


def softmax_int(self, dim, dtype=None):
    x = (packed(self) if dtype is None else packed(self).to(dtype)).contiguous()
    y = torch.empty_like(x)
    if x.numel() == 0:
        return y
    sizes = list(x.shape) or [1]
    dim = dim % len(sizes)
    outer, length, inner = math.prod(sizes[:dim]), sizes[dim], math.prod(sizes[dim + 1:])
    grid = (outer, triton.cdiv(inner, 8))
    softmax_columns[grid](x, y, outer, length, inner, BLOCK=triton.next_power_of_2(length), COLS=8)
    return y


def softmax_int_out(self, dim, dtype=None, *, out):
    out.copy_(softmax_int(self, dim, dtype))
    return out
