# operator: cublas::cublasDsbmv_v2
# style: one row for each lane; the band is walked through by diagonals, above and below
import torch
import triton
import triton.language as tl


@triton.jit
def sbmv(n, k, alpha: tl.float64, a_ptr, lda, x_ptr, x_first, incx, beta: tl.float64, y_ptr, y_first, incy, UPPER: tl.constexpr,
         KEEP: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK,), tl.float64)
    for d in range(-k, k + 1):
        j = i + d
        inside = (i < n) & (j >= 0) & (j < n) & (alpha != 0.0)
        low = tl.minimum(i, j)
        high = tl.maximum(i, j)
        at = a_ptr + (k + low - high + high * lda if UPPER else high - low + low * lda)
        acc += tl.load(at, mask=inside, other=0.0) * tl.load(x_ptr + x_first + j * incx, mask=inside, other=0.0)
    ys = y_ptr + y_first + i * incy
    result = alpha * acc
    if KEEP:
        result += beta * tl.load(ys, mask=i < n)
    tl.store(ys, result, mask=i < n)


def first(n, inc):
    return (1 - n) * inc if inc < 0 else 0


def cublasDsbmv_v2(uplo, n, k, alpha, A, lda, x, incx, beta, y, incy):
    if n > 0:
        sbmv[(triton.cdiv(n, 128),)](n, k, alpha, A, lda, x, first(n, incx), incx, beta, y, first(n, incy), incy,
                                     UPPER=uplo == 1, KEEP=beta != 0, BLOCK=128)
    return y
