# operator: cublas::cublasDsyr2_v2
# style: triangle of tiles numbered in one grid dimension
import triton
import triton.language as tl

TILE = 32


@triton.jit
def syr2_tile(x_ptr, y_ptr, a_ptr, n, lda, incx, incy, x0, y0, alpha: tl.float64,
              UPPER: tl.constexpr, TILE: tl.constexpr):
    # Tile number t of the lower triangle: (p, q) with q <= p and t = p (p + 1) / 2 + q.
    t = tl.program_id(0)
    p = ((tl.sqrt(8.0 * t.to(tl.float64) + 1.0) - 1.0) * 0.5).to(tl.int32)
    p = tl.where(p * (p + 1) // 2 > t, p - 1, p)
    p = tl.where((p + 1) * (p + 2) // 2 <= t, p + 1, p)
    q = t - p * (p + 1) // 2
    if UPPER:
        i = q.to(tl.int64) * TILE + tl.arange(0, TILE)
        j = p.to(tl.int64) * TILE + tl.arange(0, TILE)
        mask = (i[:, None] <= j[None, :]) & (j[None, :] < n)
    else:
        i = p.to(tl.int64) * TILE + tl.arange(0, TILE)
        j = q.to(tl.int64) * TILE + tl.arange(0, TILE)
        mask = (i[:, None] >= j[None, :]) & (i[:, None] < n)
    xi = tl.load(x_ptr + x0 + i * incx, mask=i < n, other=0.0)[:, None]
    yi = tl.load(y_ptr + y0 + i * incy, mask=i < n, other=0.0)[:, None]
    xj = tl.load(x_ptr + x0 + j * incx, mask=j < n, other=0.0)[None, :]
    yj = tl.load(y_ptr + y0 + j * incy, mask=j < n, other=0.0)[None, :]
    at = a_ptr + i[:, None] + j[None, :] * lda
    old = tl.load(at, mask=mask, other=0.0)
    tl.store(at, alpha * (xi * yj + yi * xj) + old, mask=mask)


def cublasDsyr2_v2(uplo, n, alpha, x, incx, y, incy, A, lda):
    if n == 0 or alpha == 0:
        return A
    tiles = triton.cdiv(n, TILE)
    syr2_tile[(tiles * (tiles + 1) // 2,)](
        x, y, A, n, lda, incx, incy,
        (1 - n) * incx if incx < 0 else 0,
        (1 - n) * incy if incy < 0 else 0,
        float(alpha), UPPER=uplo == 1, TILE=TILE)
    return A
