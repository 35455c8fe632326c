# operator: aten::soft_margin_loss
# style: one reduction kernel with tl.atomic_add into a float32 total and a one-program finishing kernel
import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def soft_margin(x, t):
    z = -t * x
    # max(z, 0) that keeps NaN; exp never overflows
    return tl.where(z < 0, 0.0, z) + libdevice.log1p(libdevice.exp(-tl.abs(z)))


@triton.jit
def elementwise_kernel(x_ptr, t_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask, other=0.0).to(tl.float32)
    t = tl.load(t_ptr + offs, mask=mask, other=0.0).to(tl.float32)
    tl.store(y_ptr + offs, soft_margin(x, t).to(y_ptr.dtype.element_ty), mask=mask)


@triton.jit
def total_kernel(x_ptr, t_ptr, total_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask, other=0.0).to(tl.float32)
    t = tl.load(t_ptr + offs, mask=mask, other=0.0).to(tl.float32)
    loss = tl.where(mask, soft_margin(x, t), 0.0)
    tl.atomic_add(total_ptr, tl.sum(loss, axis=0))


@triton.jit
def finish_kernel(total_ptr, y_ptr, n, IS_MEAN: tl.constexpr):
    total = tl.load(total_ptr)
    if IS_MEAN:
        total = total / n  # NaN for n = 0
    tl.store(y_ptr, total.to(y_ptr.dtype.element_ty))


def _check(self, target, reduction):
    assert self.shape == target.shape, "self and target have one shape"
    assert reduction in (0, 1, 2), "reduction is none, mean or sum"


def _reduce(self, target, reduction, y):
    n = self.numel()
    total = torch.zeros((1,), dtype=torch.float32, device=self.device)
    if n > 0:
        total_kernel[(triton.cdiv(n, 2048),)](self.contiguous(), target.contiguous(), total, n, BLOCK=2048, num_warps=8)
    finish_kernel[(1,)](total, y, n, IS_MEAN=reduction == 1)


def _elementwise(self, target, y):
    n = self.numel()
    if n > 0:
        elementwise_kernel[(triton.cdiv(n, 1024),)](self.contiguous(), target.contiguous(), y, n, BLOCK=1024)


def soft_margin_loss(self, target, reduction=1):
    _check(self, target, reduction)
    if reduction == 0:
        y = torch.empty(self.shape, dtype=self.dtype, device=self.device)
        _elementwise(self, target, y)
    else:
        y = torch.empty((), dtype=self.dtype, device=self.device)
        _reduce(self, target, reduction, y)
    return y


def soft_margin_loss_out(self, target, reduction=1, *, out):
    _check(self, target, reduction)
    if reduction != 0:
        _reduce(self, target, reduction, out)
    elif out.is_contiguous():
        _elementwise(self, target, out)
    else:
        y = torch.empty(out.shape, dtype=out.dtype, device=out.device)
        _elementwise(self, target, y)
        out.copy_(y)
    return out
