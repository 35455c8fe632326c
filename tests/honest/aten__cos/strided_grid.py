# operator: aten::cos
# style: strides in the kernel through a loop over dimensions, grid of blocks and rows, heuristics
import torch
import triton
import triton.language as tl

BLOCK = 512


@triton.heuristics({"NDIM": lambda args: len(args["sizes"])})
@triton.jit
def _cosine(x_ptr, y_ptr, sizes, x_strides, y_strides, inner, NDIM: tl.constexpr, BLOCK: tl.constexpr):
    """A program: a block of the last dimension of a row. All lie in the grid's first dimension, which alone may be long."""
    blocks = tl.cdiv(inner, BLOCK)
    row = (tl.program_id(0) // blocks).to(tl.int64)
    column = tl.program_id(0) % blocks * BLOCK + tl.arange(0, BLOCK)
    for d in tl.static_range(NDIM - 1):
        i = row % sizes[NDIM - 2 - d]
        row = row // sizes[NDIM - 2 - d]
        x_ptr += i * x_strides[NDIM - 2 - d]
        y_ptr += i * y_strides[NDIM - 2 - d]
    angle = tl.load(x_ptr + column * x_strides[NDIM - 1], mask=column < inner, other=0).to(tl.float32)
    tl.store(y_ptr + column * y_strides[NDIM - 1], tl.cos(angle).to(y_ptr.dtype.element_ty), mask=column < inner)


def _run(x, y):
    if x.numel() == 0:
        return y
    if x.dim() < 2:
        x2, y2 = x.reshape(1, -1) if x.dim() == 0 else x.unsqueeze(0), y.view(1, 1) if y.dim() == 0 else y.unsqueeze(0)
    else:
        x2, y2 = x, y
    inner = x2.shape[-1]
    grid = (x2.numel() // inner * triton.cdiv(inner, BLOCK),)
    _cosine[grid](x2, y2, tuple(x2.shape), tuple(x2.stride()), tuple(y2.stride()), inner, BLOCK=BLOCK)
    return y


def cos(self):
    dtype = self.dtype if self.is_floating_point() else torch.float32
    return _run(self, torch.empty(self.shape, dtype=dtype, device=self.device))


def cos_out(self, *, out):
    return _run(self, out)
