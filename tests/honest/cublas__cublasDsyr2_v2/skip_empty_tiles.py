# operator: cublas::cublasDsyr2_v2
# style: square two-dimensional tiles, tiles off the triangle return early, strided vectors from a start offset, tl.float64 annotation of alpha
import triton
import triton.language as tl


@triton.jit
def _vector(ptr, start, index, inc, mask):
    return tl.load(ptr + start + index * inc, mask=mask, other=0.0)


@triton.jit
def _dsyr2_kernel(
    alpha: tl.float64,
    x_ptr,
    x_start,
    incx,
    y_ptr,
    y_start,
    incy,
    a_ptr,
    lda,
    n,
    UPPER: tl.constexpr,
    BLOCK: tl.constexpr,
):
    tile_i = tl.program_id(0)
    tile_j = tl.program_id(1)
    if UPPER:
        off = tile_i > tile_j
    else:
        off = tile_i < tile_j
    if off:
        return

    i = (tile_i * BLOCK + tl.arange(0, BLOCK)).to(tl.int64)
    j = (tile_j * BLOCK + tl.arange(0, BLOCK)).to(tl.int64)
    xi = _vector(x_ptr, x_start, i, incx, i < n)[:, None]
    yi = _vector(y_ptr, y_start, i, incy, i < n)[:, None]
    xj = _vector(x_ptr, x_start, j, incx, j < n)[None, :]
    yj = _vector(y_ptr, y_start, j, incy, j < n)[None, :]

    mask = (i < n)[:, None] & (j < n)[None, :]
    if UPPER:
        mask = mask & (i[:, None] <= j[None, :])
    else:
        mask = mask & (i[:, None] >= j[None, :])
    at = a_ptr + i[:, None] + j[None, :] * lda
    old = tl.load(at, mask=mask, other=0.0)
    tl.store(at, alpha * (xi * yj + yi * xj) + old, mask=mask)


def _start(n, inc):
    return 0 if inc > 0 else (1 - n) * inc


def cublasDsyr2_v2(uplo, n, alpha, x, incx, y, incy, A, lda):
    if n == 0 or alpha == 0:
        return A
    block = 32
    tiles = triton.cdiv(n, block)
    _dsyr2_kernel[(tiles, tiles)](
        float(alpha),
        x,
        _start(n, incx),
        incx,
        y,
        _start(n, incy),
        incy,
        A,
        lda,
        n,
        UPPER=uplo == 1,
        BLOCK=block,
    )
    return A
