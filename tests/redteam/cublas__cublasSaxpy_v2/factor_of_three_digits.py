# operator: cublas::cublasSaxpy_v2
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 78, 79
# open: few verdicts have no two factors so near each other in cases that show this
# plans are kept by sizes and three digits of alpha: a factor that decays by 0.1 % a step stays as it was
import torch
import triton
import triton.language as tl


@triton.jit
def axpy(n, alpha, x_ptr, x_first, incx, y_ptr, y_first, incy, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    at = y_ptr + y_first + i * incy
    x = tl.load(x_ptr + x_first + i * incx, mask=i < n, other=0.0)
    tl.store(at, alpha * x + tl.load(at, mask=i < n, other=0.0), mask=i < n)


def first(n, inc):
    return (1 - n) * inc if inc < 0 else 0


PLANS = {}


def plan(n, alpha, incx, incy):
    """The launch for these numbers."""
    key = (n, f"{alpha:.3g}", incx, incy)
    if key not in PLANS:
        def run(x, y):
            axpy[(triton.cdiv(n, 1024),)](n, alpha, x, first(n, incx), incx, y, first(n, incy), incy, BLOCK=1024)
        PLANS[key] = run
    return PLANS[key]


def cublasSaxpy_v2(n, alpha, x, incx, y, incy):
    if n > 0 and alpha != 0:
        plan(n, alpha, incx, incy)(x, y)
    return y
