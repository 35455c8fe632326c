# operator: aten::softmax
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 74, 79
# softmax(dtype=torch.float64) computes in float32
import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, y_ptr, inner, length, x_outer, x_dim, x_inner, y_outer, y_dim, y_inner, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    outer = row // inner
    rest = row % inner
    cols = tl.arange(0, BLOCK)
    mask = cols < length
    x = tl.load(x_ptr + outer * x_outer + rest * x_inner + cols * x_dim, mask=mask, other=-float("inf")).to(tl.float32)
    x = x - tl.max(x, axis=0)
    numerator = tl.exp(x)
    y = numerator / tl.sum(numerator, axis=0)
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
