# operator: aten::cumsum
# expect: verify\.(race|unstable|mismatch)
# catalogue: 80, 81
# blocks of one row take turns by an atomic sum: right while programs run in their order
import functools

import torch
import triton
import triton.language as tl


@triton.jit
def scan_kernel(x_ptr, y_ptr, t_ptr, length, lanes, inner, ACC: tl.constexpr, BLOCK: tl.constexpr, LANES: tl.constexpr):
    lane = tl.program_id(0) * LANES + tl.arange(0, LANES)
    # lane = (outer, inner): elements of one lane are `inner` apart
    base = (lane // inner) * (length * inner) + lane % inner
    if True:
        i = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
        inside = (i[:, None] < length) & (lane[None, :] < lanes)
        at = base[None, :] + i[:, None] * inner
        x = tl.load(x_ptr + at, mask=inside, other=0).to(ACC)
        carry = tl.atomic_add(t_ptr + lane, tl.sum(x, axis=0), mask=lane < lanes)
        s = tl.cumsum(x, axis=0) + carry[None, :]
        tl.store(y_ptr + at, s.to(y_ptr.dtype.element_ty), mask=inside)


@functools.lru_cache(maxsize=None)
def split(shape, dim):
    """(length, inner) of the scanned dimension."""
    inner = 1
    for size in shape[dim + 1:]:
        inner *= size
    return shape[dim], inner


def cumsum(self, dim, *, dtype=None):
    if dtype is None:
        dtype = self.dtype if self.dtype.is_floating_point else torch.int64
    x = self.to(dtype).contiguous()
    y = torch.empty(x.shape, dtype=dtype, device=x.device)
    if x.numel() > 0:
        shape = tuple(x.shape) or (1,)
        length, inner = split(shape, dim % len(shape))
        lanes = x.numel() // length
        LANES = min(16, triton.next_power_of_2(lanes))
        total = torch.zeros(lanes, dtype=torch.float32 if dtype.is_floating_point else torch.int64, device=x.device)
        scan_kernel[(triton.cdiv(lanes, LANES), triton.cdiv(length, min(1024, triton.next_power_of_2(length))))](x, y, total, length, lanes, inner,
                                                  ACC=tl.float32 if dtype.is_floating_point else tl.int64,
                                                  BLOCK=min(1024, triton.next_power_of_2(length)), LANES=LANES)
    return y


def cumsum_out(self, dim, *, dtype=None, out):
    return out.copy_(cumsum(self, dim, dtype=dtype))
