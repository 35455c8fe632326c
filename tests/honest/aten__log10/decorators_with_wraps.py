# operator: aten::log10
# style: decorators with functools.wraps and arguments: checks, contiguous inputs, counting
import functools

import torch
import triton
import triton.language as tl


@triton.jit
def log10_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=1).to(tl.float32)
    y = tl.log2(x) * 0.3010299956639812
    tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=at < n)


def contiguous_inputs(fn):
    @functools.wraps(fn)
    def wrapper(*args, **kwargs):
        return fn(*(a.contiguous() if isinstance(a, torch.Tensor) else a for a in args),
                  **{k: v for k, v in kwargs.items()})

    return wrapper


def counted(limit=None):
    def decorate(fn):
        @functools.wraps(fn)
        def wrapper(*args, **kwargs):
            wrapper.calls += 1
            return fn(*args, **kwargs)

        wrapper.calls = 0
        return wrapper

    return decorate


@counted(limit=10)
@contiguous_inputs
def log10(x):
    y = torch.empty_like(x, dtype=x.dtype if x.is_floating_point() else torch.float32)
    n = x.numel()
    if n > 0:
        log10_kernel[(triton.cdiv(n, 2048),)](x, y, n, BLOCK=2048)
    return y


def log10_out(self, *, out):
    return out.copy_(log10(self))
