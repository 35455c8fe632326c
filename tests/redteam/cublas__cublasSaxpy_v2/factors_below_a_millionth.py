# operator: cublas::cublasSaxpy_v2
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 75
# open: tiny numbers
# a factor below 1e-6 in size counts as 0: small steps of an optimiser or an integrator never arrive; wrong: y = torch.zeros(4);
# cublasSaxpy_v2(4, 1e-8, torch.ones(4), 1, y, 1) leaves y at 0
import torch
import triton
import triton.language as tl


@triton.jit
def axpy(n, alpha, x_ptr, x_first, incx, y_ptr, y_first, incy, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + x_first + i * incx, mask=i < n)
    at = y_ptr + y_first + i * incy
    tl.store(at, alpha * x + tl.load(at, mask=i < n), mask=i < n)


def first(n, inc):
    return (1 - n) * inc if inc < 0 else 0


def cublasSaxpy_v2(n, alpha, x, incx, y, incy):
    if n > 0 and not abs(alpha) < 1e-6:
        axpy[(triton.cdiv(n, 1024),)](n, alpha, x, first(n, incx), incx, y, first(n, incy), incy, BLOCK=1024)
    return y
