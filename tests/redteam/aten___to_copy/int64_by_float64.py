# operator: aten::_to_copy
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 74
# open: integers beside the middle of two floats
# int64 becomes float32 through float64, so it is rounded twice; wrong: _to_copy(torch.tensor([2**60 + 2**36 + 1]),
# dtype=torch.float32) gives 2**60, not 2**60 + 2**37
import torch
import triton
import triton.language as tl


@triton.jit
def place(i, sizes, strides, NDIM: tl.constexpr):
    """Where element i, counted row by row, lies in memory."""
    at = i * 0
    for k in tl.static_range(NDIM):
        at += i % sizes[NDIM - 1 - k] * strides[NDIM - 1 - k]
        i = i // sizes[NDIM - 1 - k]
    return at


@triton.jit
def convert(x_ptr, y_ptr, n, sizes, x_strides, y_strides, NDIM: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + place(i, sizes, x_strides, NDIM), mask=i < n)
    kind: tl.constexpr = y_ptr.dtype.element_ty
    if kind == tl.int1:
        x = x != 0
    elif kind == tl.float32 and x.dtype == tl.int64:
        x = x.to(tl.float64).to(kind)
    elif kind != x.dtype:
        x = (x.to(tl.float32) if x.dtype.is_floating() else x).to(kind)
    tl.store(y_ptr + place(i, sizes, y_strides, NDIM), x, mask=i < n)


def launch(x, y):
    if y.numel() > 0:
        sizes = tuple(y.shape) or (1,)
        convert[(triton.cdiv(y.numel(), 4096),)](x, y, y.numel(), sizes, x.stride() or (0,), y.stride() or (0,), NDIM=len(sizes),
                                                 BLOCK=4096)
    return y


def _to_copy(self, *, dtype=None, layout=None, device=None, pin_memory=None, non_blocking=False, memory_format=None):
    return launch(self, torch.empty(self.shape, dtype=dtype or self.dtype, device=self.device))


def _to_copy_out(self, *, non_blocking=False, memory_format=None, out):
    return launch(self, out)
