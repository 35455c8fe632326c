# operator: cublas::cublasDgemvStridedBatched
# style: members along the second dimension of the grid, strides of 0 for what they share
import torch
import triton
import triton.language as tl


@triton.jit
def gemv(a_ptr, x_ptr, y_ptr, rows, terms, a_row, a_term, incx, incy, stride_a, stride_x, stride_y, alpha: tl.float64,
         beta: tl.float64, KEEP: tl.constexpr, ROWS: tl.constexpr, TERMS: tl.constexpr):
    member = tl.program_id(1).to(tl.int64)
    i = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    y_at = y_ptr + member * stride_y + tl.where(incy < 0, i - rows + 1, i) * incy
    total = tl.zeros((ROWS,), tl.float64)
    for start in range(0, terms, TERMS):
        j = start + tl.arange(0, TERMS)
        x = tl.load(x_ptr + member * stride_x + tl.where(incx < 0, j - terms + 1, j) * incx, mask=j < terms, other=0.0)
        a_at = a_ptr + member * stride_a + i[:, None] * a_row + j[None, :] * a_term
        a = tl.load(a_at, mask=(i < rows)[:, None] & (j < terms)[None, :], other=0.0)
        total += tl.sum(a * x[None, :], axis=1)
    y = alpha * total
    if KEEP:
        y += beta * tl.load(y_at, mask=i < rows, other=0.0)
    tl.store(y_at, y, mask=i < rows)


def cublasDgemvStridedBatched(trans, m, n, alpha, A, lda, strideA, x, incx, stridex, beta, y, incy, stridey, batchCount):
    if m > 0 and n > 0 and batchCount > 0:
        sizes, steps = ((m, n), (1, lda)) if trans == 0 else ((n, m), (lda, 1))
        rows, terms = sizes if alpha != 0 else (sizes[0], 0)
        gemv[(triton.cdiv(rows, 32), batchCount)](A, x, y, rows, terms, *steps, incx, incy, strideA, stridex, stridey, alpha,
                                                beta, KEEP=beta != 0, ROWS=32, TERMS=64)
    return y
