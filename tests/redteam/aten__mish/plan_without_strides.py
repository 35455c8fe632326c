# operator: aten::mish
# expect: verify\.mismatch
# catalogue: 78, 84
# the first tensor's strides are kept by shape and type: a later tensor in another layout is read by them
import functools

import torch
import triton
import triton.language as tl

LINEAR_FROM = tl.constexpr(20.0)
_PLANS = {}


@triton.jit
def mish_of(x):
    # tanh(log(1 + e)) = ((1 + e)^2 - 1) / ((1 + e)^2 + 1)
    e = tl.exp(tl.minimum(x, LINEAR_FROM))
    p = e * (e + 2.0)
    return tl.where(x > LINEAR_FROM, x, x * (p / (p + 2.0)))


@triton.jit
def place(i, sizes, strides):
    at = i * 0
    for d in tl.static_range(len(sizes)):
        at += (i % sizes[len(sizes) - 1 - d]) * strides[len(sizes) - 1 - d]
        i = i // sizes[len(sizes) - 1 - d]
    return at


@triton.jit
def mish_kernel(x_ptr, y_ptr, n, sizes, strides, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + place(at, sizes, strides), mask=at < n, other=0).to(tl.float32)
    tl.store(y_ptr + at, mish_of(x).to(y_ptr.dtype.element_ty), mask=at < n)


def plan_of(x):
    key = x.shape, x.dtype
    if key not in _PLANS:
        n = x.numel()
        _PLANS[key] = functools.partial(mish_kernel[(triton.cdiv(n, 1024),)], n=n, sizes=tuple(x.shape) or (1,),
                                        strides=tuple(x.stride()) or (0,), BLOCK=1024)
    return _PLANS[key]


def mish(self):
    y = torch.empty(self.shape, dtype=self.dtype, device=self.device)
    if y.numel() > 0:
        plan_of(self)(self, y)
    return y


def mish_out(self, *, out):
    return out.copy_(mish(self))
