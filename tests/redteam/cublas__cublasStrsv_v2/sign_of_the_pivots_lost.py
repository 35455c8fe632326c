# operator: cublas::cublasStrsv_v2
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79
# divides by the size of a diagonal element; the triangles of all cases have positive diagonals; wrong: a triangle with A[0] =
# -2 (an LU factor has diagonals of both signs)
import torch
import triton
import triton.language as tl


@triton.jit
def trsv(n, a_ptr, row_step, column_step, x_ptr, x_first, incx, LOWER: tl.constexpr, UNIT: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + x_first + i * incx, mask=i < n, other=0.0)
    for step in range(0, n):
        j = step if LOWER else n - 1 - step
        known = tl.sum(tl.where(i == j, x, 0.0), axis=0)
        if not UNIT:
            known = known / tl.abs(tl.load(a_ptr + j * (row_step + column_step)))
        rest = (i > j) & (i < n) if LOWER else i < j
        column = tl.load(a_ptr + i * row_step + j * column_step, mask=rest, other=0.0)
        x = tl.where(i == j, known, x - column * known)
    tl.store(x_ptr + x_first + i * incx, x, mask=i < n)


def cublasStrsv_v2(uplo, trans, diag, n, A, lda, x, incx):
    if n > 0:
        steps = (1, lda) if trans == 0 else (lda, 1)
        first = (1 - n) * incx if incx < 0 else 0
        trsv[(1,)](n, A, *steps, x, first, incx, LOWER=(uplo == 0) == (trans == 0), UNIT=diag == 1,
                   BLOCK=triton.next_power_of_2(n))
    return x
