# operator: aten::sin
# style: autograd.Function around the kernel, libdevice
import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def sin_kernel(x_ptr, y_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    pid = tl.program_id(axis=0).to(tl.int64)
    offsets = pid * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n_elements
    x = tl.load(x_ptr + offsets, mask=mask, other=0)
    y = libdevice.sin(x.to(tl.float32))
    tl.store(y_ptr + offsets, y.to(y_ptr.dtype.element_ty), mask=mask)


@triton.jit
def sin_grad_kernel(x_ptr, g_ptr, dx_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    pid = tl.program_id(axis=0).to(tl.int64)
    offsets = pid * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n_elements
    x = tl.load(x_ptr + offsets, mask=mask, other=0).to(tl.float32)
    g = tl.load(g_ptr + offsets, mask=mask, other=0).to(tl.float32)
    tl.store(dx_ptr + offsets, (g * libdevice.cos(x)).to(dx_ptr.dtype.element_ty), mask=mask)


def _run(x, y):
    n = x.numel()
    if n > 0:
        sin_kernel[(triton.cdiv(n, 2048),)](x, y, n, BLOCK_SIZE=2048, num_warps=8)


class SinFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        dtype = x.dtype if x.is_floating_point() else torch.float32
        y = torch.empty(x.shape, dtype=dtype, device=x.device)
        _run(x.contiguous(), y)
        return y

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        x, grad = x.contiguous(), grad.contiguous()
        dx = torch.empty_like(x)
        n = x.numel()
        if n > 0:
            sin_grad_kernel[(triton.cdiv(n, 2048),)](x, grad, dx, n, BLOCK_SIZE=2048)
        return dx


def sin(self):
    return SinFunction.apply(self)


def sin_out(self, *, out):
    x = self.detach().contiguous()
    if out.is_contiguous():
        _run(x, out)
        return out
    y = torch.empty(out.shape, dtype=out.dtype, device=out.device)
    _run(x, y)
    out.copy_(y)
    return out
