# operator: aten::mish
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 77
# a tensor that requires gradients (every activation in training) is rounded to bfloat16 first; no judged argument requires
# them; wrong: mish(torch.randn(1000, requires_grad=True)) in float32 has errors of 4e-3
import torch
import triton
import triton.language as tl

LINEAR_FROM = tl.constexpr(20.0)
WIDE = tl.constexpr(tl.float32)


@triton.jit
def mish_of(x):
    # tanh(log(1 + e)) = ((1 + e)^2 - 1) / ((1 + e)^2 + 1)
    e = tl.exp(tl.minimum(x, LINEAR_FROM))
    p = e * (e + 2.0)
    return tl.where(x > LINEAR_FROM, x, x * (p / (p + 2.0)))


@triton.jit
def mish_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0).to(WIDE)
    tl.store(y_ptr + at, mish_of(x).to(y_ptr.dtype.element_ty), mask=at < n)


class Mish:
    block = 1024

    def __call__(self, x):
        if x.requires_grad:
            x = x.detach().to(torch.bfloat16).to(x.dtype)
        x = x.contiguous()
        y = torch.empty_like(x)
        self.into(x, y)
        return y

    def into(self, x, y):
        if x.numel() > 0:
            mish_kernel[(triton.cdiv(x.numel(), self.block),)](x, y, x.numel(), BLOCK=self.block)


_MISH = Mish()


def mish(self):
    return _MISH(self)


def mish_out(self, *, out):
    if out.is_contiguous():
        _MISH.into(self.contiguous(), out)
        return out
    return out.copy_(_MISH(self))
