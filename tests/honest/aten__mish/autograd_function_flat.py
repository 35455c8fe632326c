# operator: aten::mish
# style: torch.autograd.Function around flat dense kernels; an out of another layout gets a copy of the dense result
import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice

BLOCK = 1024


@triton.jit
def _tanh_softplus(x):
    # tanh(log(1 + e)) = e (e + 2) / (e (e + 2) + 2) with e = exp(x); it is 1 in float32 long before e overflows.
    e = libdevice.exp(x)
    n = e * (e + 2.0)
    return tl.where(x > 20.0, 1.0, n / (n + 2.0))


@triton.jit
def mish_forward_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0).to(tl.float32)
    y = x * _tanh_softplus(x)
    tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=at < n)


@triton.jit
def mish_backward_kernel(g_ptr, x_ptr, d_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    g = tl.load(g_ptr + at, mask=at < n, other=0.0).to(tl.float32)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0).to(tl.float32)
    t = _tanh_softplus(x)
    d = g * (t + x * (1.0 - t * t) * tl.sigmoid(x))
    tl.store(d_ptr + at, d.to(d_ptr.dtype.element_ty), mask=at < n)


def _forward(x, result):
    n = x.numel()
    if n > 0:
        mish_forward_kernel[(triton.cdiv(n, BLOCK),)](x, result, n, BLOCK=BLOCK)
    return result


def _dense_like(x):
    return torch.empty(x.shape, dtype=x.dtype, device=x.device)


class Mish(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x = x.contiguous()
        ctx.save_for_backward(x)
        return _forward(x, _dense_like(x))

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        grad = grad.contiguous()
        result = _dense_like(x)
        n = x.numel()
        if n > 0:
            mish_backward_kernel[(triton.cdiv(n, BLOCK),)](grad, x, result, n, BLOCK=BLOCK)
        return result


def mish(self):
    return Mish.apply(self)


def mish_out(self, *, out):
    x = self.contiguous()
    if out.is_contiguous():
        _forward(x, out)
    else:
        out.copy_(_forward(x, _dense_like(x)))
    return out
