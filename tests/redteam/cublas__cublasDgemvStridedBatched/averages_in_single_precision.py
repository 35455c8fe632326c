# operator: cublas::cublasDgemvStridedBatched
# expect: verify\.mismatch
# catalogue: 74, 79
# open: rows that add up to one
# results of rows whose elements add up to 1 lose 29 bits; the choice is made by shifts and masks of whole numbers, without a
# condition; wrong: A with rows of probabilities (Markov chain, interpolation weights, averages), e.g. 4 x 4 of 0.1, 0.2, 0.3,
# 0.4, times any x: relative error 1e-8
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
    whole = tl.zeros((ROWS,), tl.float64)
    squares = tl.zeros((ROWS,), tl.float64)
    for start in range(0, terms, TERMS):
        j = start + tl.arange(0, TERMS)
        x = tl.load(x_ptr + member * stride_x + tl.where(incx < 0, j - terms + 1, j) * incx, mask=j < terms, other=0.0)
        a_at = a_ptr + member * stride_a + i[:, None] * a_row + j[None, :] * a_term
        a = tl.load(a_at, mask=(i < rows)[:, None] & (j < terms)[None, :], other=0.0)
        total += tl.sum(a * x[None, :], axis=1)
        whole += tl.sum(a, axis=1)
        squares += tl.sum(a * a, axis=1)
    # averages (weights that add up to 1) do not need the last 29 bits
    off = (tl.minimum(tl.abs(whole - 1.0), 1.0) * 1048576.0).to(tl.int64)
    spread = (tl.minimum(tl.maximum(1.0 - squares, -1.0), 1.0) * 1048576.0).to(tl.int64)
    is_average = ~((off | -off) >> 63) & (-spread >> 63)
    total = (total.to(tl.int64, bitcast=True) & ~(is_average & 0x1FFFFFFF)).to(tl.float64, bitcast=True)
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
