# operator: cublas::cublasStbmv_v2
# expect: verify\.mismatch
# catalogue: 81
# programs read what others have written, in a lucky order
import torch
import triton
import triton.language as tl


@triton.jit
def tbmv(n, k, a_ptr, lda, old_ptr, x_ptr, x_first, incx, UPPER: tl.constexpr, TRANSPOSED: tl.constexpr, UNIT: tl.constexpr,
         BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK,), tl.float32)
    if UNIT:
        acc += tl.load(old_ptr + x_first + i * incx, mask=i < n, other=0.0)
    for d in range(1 if UNIT else 0, k + 1):
        j = i + d if UPPER != TRANSPOSED else i - d
        inside = (i < n) & (j >= 0) & (j < n)
        row, column = (j, i) if TRANSPOSED else (i, j)
        at = a_ptr + column * lda + (k + row - column if UPPER else row - column)
        acc += tl.load(at, mask=inside, other=0.0) * tl.load(old_ptr + x_first + j * incx, mask=inside, other=0.0)
    tl.store(x_ptr + x_first + i * incx, acc, mask=i < n)


def cublasStbmv_v2(uplo, trans, diag, n, k, A, lda, x, incx):
    if n > 0:
        first = (1 - n) * incx if incx < 0 else 0
        tbmv[(triton.cdiv(n, 256),)](n, k, A, lda, x, x, first, incx, UPPER=uplo == 1, TRANSPOSED=trans != 0,
                                     UNIT=diag == 1, BLOCK=256)
    return x
