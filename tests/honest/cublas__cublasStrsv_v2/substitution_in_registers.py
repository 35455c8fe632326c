# operator: cublas::cublasStrsv_v2
# style: one program, the right-hand side in registers, column by column substitution in a loop
import triton
import triton.language as tl


@triton.jit
def trsv_kernel(n, a_ptr, row_stride, col_stride, x_ptr, incx, x0,
                BACKWARD: tl.constexpr, UNIT: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK).to(tl.int64)
    inside = i < n
    x_ptrs = x_ptr + x0 + i * incx
    x = tl.load(x_ptrs, mask=inside, other=0.0)
    for step in range(0, n):
        if BACKWARD:
            j = tl.cast(n - 1 - step, tl.int64)
            left = i < j
        else:
            j = tl.cast(step, tl.int64)
            left = (i > j) & inside
        xj = tl.sum(tl.where(i == j, x, 0.0), axis=0)
        if not UNIT:
            xj = xj / tl.load(a_ptr + j * (row_stride + col_stride))
        column = tl.load(a_ptr + i * row_stride + j * col_stride, mask=left, other=0.0)
        x = tl.where(left, x - column * xj, x)
        x = tl.where(i == j, xj, x)
    tl.store(x_ptrs, x, mask=inside)


def cublasStrsv_v2(uplo, trans, diag, n, A, lda, x, incx):
    if n == 0:
        return x
    # element (i, j) of op(A) is A[i * row_stride + j * col_stride]
    row_stride, col_stride = (1, lda) if trans == 0 else (lda, 1)
    lower = (uplo == 0) == (trans == 0)
    block = triton.next_power_of_2(n)
    trsv_kernel[(1,)](
        n, A, row_stride, col_stride, x, incx, (1 - n) * incx if incx < 0 else 0,
        BACKWARD=not lower, UNIT=diag == 1, BLOCK=block, num_warps=4 if block <= 1024 else 8,
    )
    return x
