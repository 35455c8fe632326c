# operator: cublas::cublasStrsv_v2
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79
# fourteen sweeps of Jacobi's iteration: they converge for the triangles of the cases, not for those with larger elements
import torch
import triton
import triton.language as tl


@triton.jit
def sweeps(n, a_ptr, row_step, column_step, x_ptr, x_first, incx, LOWER: tl.constexpr, UNIT: tl.constexpr,
           BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    b = tl.load(x_ptr + x_first + i * incx, mask=i < n, other=0.0)
    row, column = i[:, None], i[None, :]
    rest = (row > column) if LOWER else (row < column)
    rest = rest & (row < n) & (column < n)
    a = tl.load(a_ptr + row * row_step + column * column_step, mask=rest, other=0.0)
    diagonal = tl.full((BLOCK,), 1.0, tl.float32)
    if not UNIT:
        diagonal = tl.load(a_ptr + i * (row_step + column_step), mask=i < n, other=1.0)
    x = b / diagonal
    for _ in range(14):
        x = (b - tl.sum(a * x[None, :], axis=1)) / diagonal
    tl.store(x_ptr + x_first + i * incx, x, mask=i < n)


@triton.jit
def columns(n, a_ptr, row_step, column_step, x_ptr, x_first, incx, LOWER: tl.constexpr, UNIT: tl.constexpr,
            BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + x_first + i * incx, mask=i < n, other=0.0)
    for step in range(0, n):
        j = step if LOWER else n - 1 - step
        known = tl.sum(tl.where(i == j, x, 0.0), axis=0)
        if not UNIT:
            known = known / tl.load(a_ptr + j * (row_step + column_step))
        rest = (i > j) & (i < n) if LOWER else i < j
        column = tl.load(a_ptr + i * row_step + j * column_step, mask=rest, other=0.0)
        x = tl.where(i == j, known, x - column * known)
    tl.store(x_ptr + x_first + i * incx, x, mask=i < n)


def cublasStrsv_v2(uplo, trans, diag, n, A, lda, x, incx):
    if n > 0:
        steps = (1, lda) if trans == 0 else (lda, 1)
        first = (1 - n) * incx if incx < 0 else 0
        solve = sweeps if n <= 256 else columns
        solve[(1,)](n, A, *steps, x, first, incx, LOWER=(uplo == 0) == (trans == 0), UNIT=diag == 1,
                    BLOCK=triton.next_power_of_2(n))
    return x
