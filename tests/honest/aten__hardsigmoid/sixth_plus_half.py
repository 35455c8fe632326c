# operator: aten::hardsigmoid
# style: the straight line as x / 6 + 1 / 2, in float32: near -3 its terms cancel; NaN kept by propagate_nan
import torch
import triton
import triton.language as tl


@triton.jit
def line_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    y = x.to(tl.float32) * (1.0 / 6.0) + 0.5
    y = tl.maximum(y, 0.0, propagate_nan=tl.PropagateNan.ALL)
    y = tl.minimum(y, 1.0, propagate_nan=tl.PropagateNan.ALL)
    tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=at < n)


def hardsigmoid(self):
    x = self.contiguous()
    y = torch.empty_like(x)
    if x.numel() > 0:
        line_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
    return y


def hardsigmoid_out(self, *, out):
    return out.copy_(hardsigmoid(self))
