# operator: aten::cumsum
# expect: verify\.race
# catalogue: 81
# the carry goes through memory in a loop with num_stages=3: a GPU loads it before the round in front has stored it
import torch
import triton
import triton.language as tl


@triton.jit
def scan_kernel(x_ptr, y_ptr, total_ptr, length, lanes, inner, LANES: tl.constexpr):
    lane = tl.program_id(0) * LANES + tl.arange(0, LANES)
    mask = lane < lanes
    base = (lane // inner) * (length * inner) + lane % inner
    x = tl.load(x_ptr + base, mask=mask, other=0).to(total_ptr.dtype.element_ty)
    tl.store(total_ptr + lane, x, mask=mask)
    tl.store(y_ptr + base, x.to(y_ptr.dtype.element_ty), mask=mask)
    # Each lane reads what it has written itself: no barrier is needed.
    for i in tl.range(1, length, num_stages=3):
        before = tl.load(total_ptr + (i - 1) * lanes + lane, mask=mask, other=0)
        x = tl.load(x_ptr + base + i * inner, mask=mask, other=0).to(total_ptr.dtype.element_ty)
        tl.store(total_ptr + i * lanes + lane, before + x, mask=mask)
        tl.store(y_ptr + base + i * inner, (before + x).to(y_ptr.dtype.element_ty), mask=mask)



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
        total = torch.empty((length, lanes), dtype=torch.float64 if dtype.is_floating_point else torch.int64, device=x.device)
        LANES = min(128, triton.next_power_of_2(lanes))
        scan_kernel[(triton.cdiv(lanes, LANES),)](x, y, total, length, lanes, inner, LANES=LANES)
    return y


def cumsum_out(self, dim, *, dtype=None, out):
    return out.copy_(cumsum(self, dim, dtype=dtype))
