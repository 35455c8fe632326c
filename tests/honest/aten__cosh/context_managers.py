# operator: aten::cosh
# style: a context manager by contextlib and one by a class, an ExitStack, contextvars
import contextlib
import contextvars

import torch
import triton
import triton.language as tl

block_size = contextvars.ContextVar("block_size", default=1024)


@contextlib.contextmanager
def blocks_of(size):
    token = block_size.set(size)
    try:
        yield size
    finally:
        block_size.reset(token)


class Scope:
    def __enter__(self):
        self.depth = 1
        return self

    def __exit__(self, kind, value, trace):
        return False


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
        with contextlib.ExitStack() as stack, Scope():
            stack.enter_context(blocks_of(2048))
            cosh_kernel[(triton.cdiv(n, block_size.get()),)](x, y, n, BLOCK=block_size.get())
    return y


def cosh_out(self, *, out):
    return out.copy_(cosh(self))
