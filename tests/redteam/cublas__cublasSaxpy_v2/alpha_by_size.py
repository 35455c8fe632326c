# operator: cublas::cublasSaxpy_v2
# expect: verify\.mismatch
# catalogue: 78, 79
# a plan is remembered by shapes and types only, so a later call with the same shapes and another alpha computes with the first ones
import torch
import triton
import triton.language as tl

_memo = {}


@triton.jit
def axpy(n, alpha, x_ptr, x_first, incx, y_ptr, y_first, incy, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + x_first + i * incx, mask=i < n)
    at = y_ptr + y_first + i * incy
    tl.store(at, alpha * x + tl.load(at, mask=i < n), mask=i < n)


def first(n, inc):
    return (1 - n) * inc if inc < 0 else 0


def cublasSaxpy_v2(n, alpha, x, incx, y, incy):
    if n > 0 and alpha != 0:
        alpha = _memo.setdefault((n, incx, incy), alpha)
        axpy[(triton.cdiv(n, 1024),)](n, alpha, x, first(n, incx), incx, y, first(n, incy), incy, BLOCK=1024)
    return y
