# operator: aten::cosh
# style: capability and properties behind functools.lru_cache and functools.cache
import functools

import torch
import triton
import triton.language as tl


@functools.lru_cache(maxsize=1)
def capability():
    return torch.cuda.get_device_capability()


@functools.cache
def block_size():
    major, minor = capability()
    return 2048 if (major, minor) >= (8, 0) else 1024


@triton.jit
def cosh_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=1).to(tl.float32)
    y = tl.where(tl.abs(x) < 80.0, 0.5 * tl.exp(tl.abs(x)) + 0.5 / tl.exp(tl.abs(x)), 0.5 * tl.exp(0.5 * tl.abs(x)) * tl.exp(0.5 * tl.abs(x)))
    tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=at < n)


def cosh(self):
    x = self.contiguous()
    y = torch.empty_like(x, dtype=x.dtype if x.is_floating_point() else torch.float32)
    n = x.numel()
    if n > 0:
        cosh_kernel[(triton.cdiv(n, block_size()),)](x, y, n, BLOCK=block_size())
    return y


def cosh_out(self, *, out):
    return out.copy_(cosh(self))
