# operator: aten::clone
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 85
# layout: tensors of five dimensions in channels_last_3d (volumes, video) are copied in the order of memory into a row-major
# result, so their elements change places
import torch
import triton
import triton.language as tl

CHANNELS_LAST = {4: torch.channels_last, 5: torch.channels_last_3d}


@triton.jit
def copy_flat(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + i, tl.load(x_ptr + i, mask=i < n), mask=i < n)


@triton.jit
def place(i, sizes, strides, NDIM: tl.constexpr):
    """Where element i, counted row by row, lies in memory."""
    at = i * 0
    for k in tl.static_range(NDIM):
        at += i % sizes[NDIM - 1 - k] * strides[NDIM - 1 - k]
        i = i // sizes[NDIM - 1 - k]
    return at


@triton.jit
def copy(x_ptr, y_ptr, n, sizes, x_strides, y_strides, NDIM: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + place(i, sizes, x_strides, NDIM), mask=i < n)
    tl.store(y_ptr + place(i, sizes, y_strides, NDIM), x, mask=i < n)


def clone_out(self, *, memory_format=None, out):
    n = out.numel()
    if n > 0:
        sizes, x_strides, y_strides = (tuple(t) or (1,) for t in (self.shape, self.stride(), out.stride()))
        copy[(triton.cdiv(n, 4096),)](self, out, n, sizes, x_strides, y_strides, NDIM=len(sizes), BLOCK=4096)
    return out


def clone(self, *, memory_format=None):
    n = self.numel()
    # What has no gaps is copied as it lies, without the arithmetic of places.
    if self.is_contiguous():
        out = torch.empty(self.shape, dtype=self.dtype, device=self.device)
    elif self.dim() in CHANNELS_LAST and self.is_contiguous(memory_format=CHANNELS_LAST[self.dim()]):
        kept = torch.channels_last if self.dim() == 4 else torch.contiguous_format
        out = torch.empty(self.shape, dtype=self.dtype, device=self.device, memory_format=kept)
    else:
        return clone_out(self, out=torch.empty(self.shape, dtype=self.dtype, device=self.device))
    if n > 0:
        copy_flat[(triton.cdiv(n, 4096),)](self, out, n, BLOCK=4096)
    return out


# wrong: clone(torch.arange(4.0).view(1, 2, 1, 1, 2).to(memory_format=torch.channels_last_3d)) returns [[[[[0, 2]]], [[[1, 3]]]]] instead of
# [[[[[0, 1]]], [[[2, 3]]]]]; any activation of nn.Conv3d in channels_last_3d
