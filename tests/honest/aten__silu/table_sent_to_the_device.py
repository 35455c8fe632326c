# operator: aten::silu
# style: sizes and strides in tables that are made on the host and sent to the device, by .to and by copy_; a default device for results
import torch
import triton
import triton.language as tl


@triton.jit
def silu_by_table(x_ptr, y_ptr, sizes_ptr, strides_ptr, n, NDIM: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside, left, at = i < n, i, i * 0
    for d in tl.static_range(NDIM):
        size = tl.load(sizes_ptr + NDIM - 1 - d)
        at += left % size * tl.load(strides_ptr + NDIM - 1 - d)
        left //= size
    x = tl.load(x_ptr + at, mask=inside, other=0.0).to(tl.float32)
    tl.store(y_ptr + i, (x * tl.sigmoid(x)).to(y_ptr.dtype.element_ty), mask=inside)


def tables(x):
    """Sizes and strides of one dimension at least."""
    sizes = torch.tensor(list(x.shape) or [1])
    strides = torch.empty(max(x.dim(), 1), dtype=torch.int64, device=x.device)
    strides.copy_(torch.tensor(list(x.stride()) or [1]))
    return sizes.to(x.device, non_blocking=True), strides


def silu(self):
    with torch.device(self.device):
        y = torch.empty(self.shape, dtype=self.dtype)
    n = y.numel()
    if n > 0:
        silu_by_table[(triton.cdiv(n, 1024),)](self, y, *tables(self), n, NDIM=max(self.dim(), 1), BLOCK=1024)
    return y


def silu_out(self, *, out):
    return out.copy_(silu(self))
