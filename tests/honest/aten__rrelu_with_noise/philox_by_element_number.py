# operator: aten::rrelu_with_noise
# style: tl.rand on the element number, separate training and evaluation kernels, temporaries for odd layouts, type hints
from typing import Union

import torch
import triton
import triton.language as tl

Number = Union[int, float]
BLOCK = 1024


@triton.jit
def train_kernel(x_ptr, noise_ptr, y_ptr, seed_ptr, n, lower: tl.float64, width: tl.float64, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    x = tl.load(x_ptr + at, mask=mask, other=1.0).to(tl.float32)
    u = tl.rand(tl.load(seed_ptr), at)
    r = lower.to(tl.float32) + width.to(tl.float32) * u
    r = r.to(noise_ptr.dtype.element_ty)
    leaky = x <= 0  # false for NaN
    y = tl.where(leaky, x * r.to(tl.float32), x)
    one = tl.full([BLOCK], 1.0, dtype=noise_ptr.dtype.element_ty)
    tl.store(noise_ptr + at, tl.where(leaky, r, one), mask=mask)
    tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=mask)


@triton.jit
def eval_kernel(x_ptr, y_ptr, n, slope: tl.float64, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    x = tl.load(x_ptr + at, mask=mask, other=1.0).to(tl.float32)
    y = tl.where(x <= 0, x * slope.to(tl.float32), x)
    tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=mask)


def _dense(t: torch.Tensor) -> torch.Tensor:
    """t itself or, if it has gaps or another order, new contiguous memory of its shape."""
    return t if t.is_contiguous() else torch.empty(t.shape, dtype=t.dtype, device=t.device)


def _run(x: torch.Tensor, noise: torch.Tensor, lower: Number, upper: Number, training: bool, seed: torch.Tensor,
         y: torch.Tensor) -> None:
    """y is contiguous."""
    n = x.numel()
    if n == 0:
        return
    x = x.contiguous()
    grid = (triton.cdiv(n, BLOCK),)
    if training:
        drawn = _dense(noise)
        train_kernel[grid](x, drawn, y, seed, n, float(lower), float(upper) - float(lower), BLOCK=BLOCK)
        if drawn is not noise:
            noise.copy_(drawn)
    else:
        eval_kernel[grid](x, y, n, (float(lower) + float(upper)) / 2, BLOCK=BLOCK)


def rrelu_with_noise(self, noise, lower=0.125, upper=0.3333333333333333, training=False, seed=None):
    y = torch.empty(self.shape, dtype=self.dtype, device=self.device)
    _run(self, noise, lower, upper, training, seed, y)
    return y


def rrelu_with_noise_out(self, noise, lower=0.125, upper=0.3333333333333333, training=False, seed=None, *, out):
    y = _dense(out)
    _run(self, noise, lower, upper, training, seed, y)
    if y is not out:
        out.copy_(y)
    return out
