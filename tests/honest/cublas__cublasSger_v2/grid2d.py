# operator: cublas::cublasSger_v2
# style: fresh round of 2026-11-30
import triton
import triton.language as tl

BLOCK_M = 64
BLOCK_N = 16


@triton.jit(do_not_specialize=["incx", "incy", "lda"])
def _ger(m, n, alpha, x, incx, y, incy, A, lda, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    i = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    j = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    i = i.to(tl.int64)
    j = j.to(tl.int64)
    # a vector with a negative increment is walked from its end
    xi = tl.where(incx > 0, i, i - (m - 1)) * incx
    yj = tl.where(incy > 0, j, j - (n - 1)) * incy
    xv = tl.load(x + xi, mask=i < m, other=0.0)
    yv = tl.load(y + yj, mask=j < n, other=0.0)
    p = A + i[:, None] + j[None, :] * lda
    inside = (i[:, None] < m) & (j[None, :] < n)
    a = tl.load(p, mask=inside, other=0.0)
    a += (alpha * xv)[:, None] * yv[None, :]
    tl.store(p, a, mask=inside)


def cublasSger_v2(m, n, alpha, x, incx, y, incy, A, lda):
    if m <= 0 or n <= 0 or alpha == 0:
        return A
    grid = (triton.cdiv(m, BLOCK_M), triton.cdiv(n, BLOCK_N))
    _ger[grid](m, n, float(alpha), x, incx, y, incy, A, lda, BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N)
    return A
