# operator: aten::cumsum
# expect: verify\.mismatch
# catalogue: 80, 81
# the old value of an atomic_add is taken for the prefix: right only where lanes are served from first to last
import torch
import triton
import triton.language as tl


@triton.jit
def scan_kernel(x_ptr, y_ptr, total_ptr, length, inner, BLOCK: tl.constexpr):
    lane = tl.program_id(0).to(tl.int64)
    base = (lane // inner) * (length * inner) + lane % inner
    for start in range(0, length, BLOCK):
        i = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + base + i * inner, mask=i < length, other=0).to(total_ptr.dtype.element_ty)
        before = tl.atomic_add(total_ptr + lane + tl.zeros([BLOCK], tl.int32), x, mask=i < length, sem="relaxed")
        tl.store(y_ptr + base + i * inner, (before + x).to(y_ptr.dtype.element_ty), mask=i < length)



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
        total = torch.zeros(lanes, dtype=torch.float64 if dtype.is_floating_point else torch.int64, device=x.device)
        scan_kernel[(lanes,)](x, y, total, length, inner, BLOCK=min(1024, triton.next_power_of_2(length)))
    return y


def cumsum_out(self, dim, *, dtype=None, out):
    return out.copy_(cumsum(self, dim, dtype=dtype))
