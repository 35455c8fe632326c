# operator: cublas::cublasDgemv_v2
# style: one kernel per operation, 2-D accumulators reduced at the end, tl.float64 scalars, constexpr flags for 0
import triton
import triton.language as tl


@triton.jit
def _finish(y_ptr, product, alpha, beta, mask, SCALE_A: tl.constexpr, KEEP_Y: tl.constexpr):
    result = tl.zeros_like(product)
    if SCALE_A:
        result += alpha * product
    if KEEP_Y:
        result += beta * tl.load(y_ptr, mask=mask, other=0.0)
    tl.store(y_ptr, result, mask=mask)


@triton.jit
def gemv_n(m, n, alpha: tl.float64, a_ptr, lda, x_ptr, incx, x0, beta: tl.float64, y_ptr, incy, y0,
           SCALE_A: tl.constexpr, KEEP_Y: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BM + tl.arange(0, BM)
    rows = i < m
    acc = tl.zeros([BM, BN], dtype=tl.float64)
    if SCALE_A:
        for start in range(0, n, BN):
            j = tl.cast(start, tl.int64) + tl.arange(0, BN)
            cols = j < n
            a = tl.load(a_ptr + i[:, None] + (j * lda)[None, :], mask=rows[:, None] & cols[None, :], other=0.0)
            x = tl.load(x_ptr + x0 + j * incx, mask=cols, other=0.0)
            acc += a * x[None, :]
    _finish(y_ptr + y0 + i * incy, tl.sum(acc, axis=1), alpha, beta, rows, SCALE_A, KEEP_Y)


@triton.jit
def gemv_t(m, n, alpha: tl.float64, a_ptr, lda, x_ptr, incx, x0, beta: tl.float64, y_ptr, incy, y0,
           SCALE_A: tl.constexpr, KEEP_Y: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    j = tl.program_id(0).to(tl.int64) * BN + tl.arange(0, BN)
    cols = j < n
    acc = tl.zeros([BM, BN], dtype=tl.float64)
    if SCALE_A:
        for start in range(0, m, BM):
            i = tl.cast(start, tl.int64) + tl.arange(0, BM)
            rows = i < m
            a = tl.load(a_ptr + i[:, None] + (j * lda)[None, :], mask=rows[:, None] & cols[None, :], other=0.0)
            x = tl.load(x_ptr + x0 + i * incx, mask=rows, other=0.0)
            acc += a * x[:, None]
    _finish(y_ptr + y0 + j * incy, tl.sum(acc, axis=0), alpha, beta, cols, SCALE_A, KEEP_Y)


def _first(length, inc):
    """Where element 0 of a vector lies."""
    return (1 - length) * inc if inc < 0 else 0


def cublasDgemv_v2(trans, m, n, alpha, A, lda, x, incx, beta, y, incy):
    if m == 0 or n == 0:
        return y
    x_length, y_length = (n, m) if trans == 0 else (m, n)
    arguments = (m, n, float(alpha), A, lda, x, incx, _first(x_length, incx),
                 float(beta), y, incy, _first(y_length, incy))
    flags = dict(SCALE_A=alpha != 0, KEEP_Y=beta != 0)
    if trans == 0:
        gemv_n[(triton.cdiv(m, 64),)](*arguments, **flags, BM=64, BN=16)
    else:
        gemv_t[(triton.cdiv(n, 16),)](*arguments, **flags, BM=64, BN=16)
    return y
