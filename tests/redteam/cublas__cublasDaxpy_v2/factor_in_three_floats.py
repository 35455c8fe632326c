# operator: cublas::cublasDaxpy_v2
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79
# alpha arrives as three float32: infinite or 0 for doubles beyond their range, 1e60 or 1e-60
import math

import torch
import triton
import triton.language as tl


@triton.jit
def axpy(n, high, middle, low, x_ptr, incx, y_ptr, incy, BLOCK: tl.constexpr):
    alpha = high.to(tl.float64) + middle.to(tl.float64) + low.to(tl.float64)
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + tl.where(incx < 0, i - n + 1, i) * incx, mask=i < n, other=0.0)
    at = y_ptr + tl.where(incy < 0, i - n + 1, i) * incy
    tl.store(at, alpha * x + tl.load(at, mask=i < n, other=0.0), mask=i < n)


def single(number):
    """The first 24 bits."""
    fraction, exponent = math.frexp(number)
    return math.ldexp(round(fraction * (1 << 24)), exponent - 24)


def split(number):
    if not math.isfinite(number):
        return number, 0.0, 0.0
    high = single(number)
    middle = single(number - high)
    return high, middle, single(number - high - middle)


def cublasDaxpy_v2(n, alpha, x, incx, y, incy):
    if n > 0 and alpha != 0:
        axpy[(triton.cdiv(n, 1024),)](n, *split(float(alpha)), x, incx, y, incy, BLOCK=1024)
    return y
