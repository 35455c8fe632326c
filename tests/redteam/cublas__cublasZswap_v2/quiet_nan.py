# operator: cublas::cublasZswap_v2
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79
# NaN lose their payload although every bit is to be kept
import torch
import triton
import triton.language as tl


@triton.jit
def swap(n, x_ptr, x_first, incx, y_ptr, y_first, incy, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    part = tl.arange(0, 2)
    inside = (i < n)[:, None]
    xs = x_ptr + 2 * (x_first + i * incx)[:, None] + part[None, :]
    ys = y_ptr + 2 * (y_first + i * incy)[:, None] + part[None, :]
    x = tl.load(xs, mask=inside)
    y = tl.load(ys, mask=inside)
    x = tl.where(x != x, float("nan"), x)
    y = tl.where(y != y, float("nan"), y)
    tl.store(xs, y, mask=inside)
    tl.store(ys, x, mask=inside)


def first(n, inc):
    return (1 - n) * inc if inc < 0 else 0


def cublasZswap_v2(n, x, incx, y, incy):
    if n > 0:
        swap[(triton.cdiv(n, 512),)](n, torch.view_as_real(x), first(n, incx), incx, torch.view_as_real(y), first(n, incy),
                                     incy, BLOCK=512)
    return x
