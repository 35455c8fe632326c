# operator: cublas::cublasCcopy_v2
# style: (element, part) tiles on view_as_real, first offset and step of each vector from a tiny helper
import torch
import triton
import triton.language as tl

BLOCK = 512


@triton.jit
def complex_copy(n, x_ptr, x_first, x_step, y_ptr, y_first, y_step, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    part = tl.arange(0, 2)
    keep = (i < n)[:, None] & (part >= 0)[None, :]
    source = (x_first + i * x_step)[:, None] * 2 + part[None, :]
    target = (y_first + i * y_step)[:, None] * 2 + part[None, :]
    tl.store(y_ptr + target, tl.load(x_ptr + source, mask=keep), mask=keep)


def _first(n, inc):
    """Where element 0 of a vector lies: with a negative increment it is the last one in memory."""
    return 0 if inc > 0 else (1 - n) * inc


def cublasCcopy_v2(n, x, incx, y, incy):
    if n > 0:
        complex_copy[(triton.cdiv(n, BLOCK),)](
            n,
            torch.view_as_real(x), _first(n, incx), incx,
            torch.view_as_real(y), _first(n, incy), incy,
            BLOCK=BLOCK,
        )
    return y
