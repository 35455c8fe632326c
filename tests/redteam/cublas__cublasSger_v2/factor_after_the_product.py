# operator: cublas::cublasSger_v2
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79
# open: the formula leaves the order of its factors free
# the outer product first, alpha times the tile afterwards: x_i * y_j overflows or vanishes where alpha * x_i * y_j is an ordinary
# number; no case has elements between the usual ones and the largest, nor tiny vectors beside a large factor
import torch
import triton
import triton.language as tl


@triton.jit
def ger(m, n, alpha, x_ptr, x_first, incx, y_ptr, y_first, incy, a_ptr, lda, TM: tl.constexpr, TN: tl.constexpr):
    i = tl.program_id(0) * TM + tl.arange(0, TM)
    j = tl.program_id(1) * TN + tl.arange(0, TN)
    x = tl.load(x_ptr + x_first + i * incx, mask=i < m, other=0.0)
    y = tl.load(y_ptr + y_first + j * incy, mask=j < n, other=0.0)
    inside = (i < m)[:, None] & (j < n)[None, :]
    at = a_ptr + i[:, None] + j[None, :] * lda
    tl.store(at, alpha * (x[:, None] * y[None, :]) + tl.load(at, mask=inside), mask=inside)


def first(n, inc):
    return (1 - n) * inc if inc < 0 else 0


def cublasSger_v2(m, n, alpha, x, incx, y, incy, A, lda):
    if m > 0 and n > 0 and alpha != 0:
        grid = (triton.cdiv(m, 64), triton.cdiv(n, 32))
        ger[grid](m, n, alpha, x, first(m, incx), incx, y, first(n, incy), incy, A, lda, TM=64, TN=32)
    return A


# wrong call: m = n = 1, alpha = 1e-20, x = [1e25], y = [1e25], A = [0]: right 1e30, wrong inf
# and alpha = 1e30, x = y = [1e-25], A = [0]: right 1e-20, wrong 0
