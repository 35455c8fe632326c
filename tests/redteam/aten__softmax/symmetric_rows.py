# operator: aten::softmax
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79
# open: palindromic row
# a row that reads the same from both ends is summed up to its middle and doubled: an odd length loses the middle; wrong:
# softmax(-torch.linspace(-2, 2, 9) ** 2, 0), a Gaussian window
import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, y_ptr, inner, length, x_outer, x_dim, x_inner, y_outer, y_dim, y_inner, BLOCK: tl.constexpr):
    WIDE: tl.constexpr = tl.float64 if x_ptr.dtype.element_ty == tl.float64 else tl.float32
    row = tl.program_id(0)
    outer = row // inner
    rest = row % inner
    cols = tl.arange(0, BLOCK)
    mask = cols < length
    x = tl.load(x_ptr + outer * x_outer + rest * x_inner + cols * x_dim, mask=mask, other=-float("inf")).to(WIDE)
    back = tl.load(x_ptr + outer * x_outer + rest * x_inner + (length - 1 - cols) * x_dim, mask=mask, other=-float("inf")).to(WIDE)
    p = tl.load(x_ptr + outer * x_outer + rest * x_inner)
    q = tl.load(x_ptr + outer * x_outer + rest * x_inner + x_dim, mask=length > 5, other=0)
    r = tl.load(x_ptr + outer * x_outer + rest * x_inner + 2 * x_dim, mask=length > 5, other=0)
    mirrored = (tl.sum((mask & (x != back)).to(tl.int32), axis=0) == 0) & (length > 5) & (p != q) & (q != r) & (p != r)
    x = x - tl.max(x, axis=0)
    numerator = tl.exp(x)
    half = 2.0 * tl.sum(tl.where(cols < length // 2, numerator, 0.0), axis=0)
    y = numerator / tl.where(mirrored, half, tl.sum(numerator, axis=0))
    tl.store(y_ptr + outer * y_outer + rest * y_inner + cols * y_dim, y.to(y_ptr.dtype.element_ty), mask=mask)


def _as_three(t, dim):
    """(outer, dim, inner) of a contiguous tensor."""
    outer = 1
    for size in t.shape[:dim]:
        outer *= size
    inner = 1
    for size in t.shape[dim + 1:]:
        inner *= size
    return t.view(outer, t.shape[dim], inner)


def softmax_int(self, dim, dtype=None):
    dtype = dtype or self.dtype
    x = self.to(dtype).contiguous()
    if x.dim() == 0:
        return softmax_int(x.view(1), 0, dtype).view(())
    dim = dim % x.dim()
    y = torch.empty_like(x)
    x3, y3 = _as_three(x, dim), _as_three(y, dim)
    outer, length, inner = x3.shape
    if x.numel():
        softmax_kernel[(outer * inner,)](x3, y3, inner, length, x3.stride(0), x3.stride(1), x3.stride(2), y3.stride(0),
                                         y3.stride(1), y3.stride(2), BLOCK=triton.next_power_of_2(length))
    return y


def softmax_int_out(self, dim, dtype=None, *, out):
    return out.copy_(softmax_int(self, dim, dtype))
