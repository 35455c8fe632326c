# operator: cublas::cublasSger_v2
# style: 2-D grid-free tiles of A (column-major), products in float64 rounded once, vector views as (origin, step) tuples
import triton
import triton.language as tl

TILE_M = 64
TILE_N = 16


@triton.jit
def rank_one_update(
    a_ptr, lda, m, n, m_tiles,
    x_ptr, x_view, y_ptr, y_view, alpha,
    TILE_M: tl.constexpr, TILE_N: tl.constexpr,
):
    pid = tl.program_id(0).to(tl.int64)
    i = pid % m_tiles * TILE_M + tl.arange(0, TILE_M)
    j = pid // m_tiles * TILE_N + tl.arange(0, TILE_N)
    x = tl.load(x_ptr + x_view[0] + i * x_view[1], mask=i < m, other=0.0).to(tl.float64)
    y = tl.load(y_ptr + y_view[0] + j * y_view[1], mask=j < n, other=0.0).to(tl.float64)
    at = i[:, None] + (j * lda)[None, :]
    mask = (i < m)[:, None] & (j < n)[None, :]
    a = tl.load(a_ptr + at, mask=mask, other=0.0).to(tl.float64)
    # The products stay finite in float64 whatever the order, and the sum is rounded once.
    updated = a + (alpha.to(tl.float64) * x)[:, None] * y[None, :]
    tl.store(a_ptr + at, updated.to(tl.float32), mask=mask)


def _view(count, inc):
    return (0 if inc > 0 else (1 - count) * inc, inc)


def cublasSger_v2(m, n, alpha, x, incx, y, incy, A, lda):
    if m <= 0 or n <= 0 or alpha == 0:
        return A
    m_tiles = triton.cdiv(m, TILE_M)
    rank_one_update[(m_tiles * triton.cdiv(n, TILE_N),)](
        A, lda, m, n, m_tiles,
        x, _view(m, incx), y, _view(n, incy), float(alpha),
        TILE_M=TILE_M, TILE_N=TILE_N,
    )
    return A
