# operator: aten::acosh
# style: small helper jit function with two formulas joined by tl.where, contiguous copies on the host, lambda grid
import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice

LN2: tl.constexpr = tl.constexpr(0.6931471805599453)
# From here on acosh(x) = log(2 x) - 1 / (4 x^2) - ... is log(2 x) to within a rounding error of float64.
LARGE: tl.constexpr = tl.constexpr(1.0e9)


@triton.jit
def _acosh(x):
    t = x - 1.0
    small = libdevice.log1p(t + tl.sqrt(2.0 * t + t * t))
    large = libdevice.log(x) + LN2
    y = tl.where(x > LARGE, large, small)
    return tl.where(x < 1.0, float("nan"), y)


@triton.jit
def _acosh_kernel(x_ptr, y_ptr, n, COMPUTE: tl.constexpr, BLOCK: tl.constexpr):
    offs = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask, other=1).to(COMPUTE)
    tl.store(y_ptr + offs, _acosh(x).to(y_ptr.dtype.element_ty), mask=mask)


def _launch(x, y):
    """Both tensors are contiguous."""
    n = x.numel()
    if n == 0:
        return
    compute = tl.float64 if x.dtype == torch.float64 else tl.float32
    grid = lambda meta: (triton.cdiv(n, meta["BLOCK"]),)
    _acosh_kernel[grid](x, y, n, COMPUTE=compute, BLOCK=1024, num_warps=4)


def _result_type(x):
    return x.dtype if x.is_floating_point() else torch.float32


def acosh(self):
    x = self.contiguous()
    y = torch.empty(self.shape, dtype=_result_type(self), device=self.device)
    _launch(x, y)
    return y


def acosh_out(self, *, out):
    x = self.contiguous()
    if out.is_contiguous():
        _launch(x, out)
    else:
        y = torch.empty(out.shape, dtype=out.dtype, device=out.device)
        _launch(x, y)
        out.copy_(y)
    return out
