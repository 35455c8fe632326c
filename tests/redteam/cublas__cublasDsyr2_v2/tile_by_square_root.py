# operator: cublas::cublasDsyr2_v2
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 74
# open: approximate root of a GPU
# precision: a program finds its tile of the triangle by a float32 square root, which is approximate on a GPU and too short for large n: tiles are left out
import torch
import triton
import triton.language as tl


@triton.jit
def syr2(n, alpha: tl.float64, x_ptr, x_first, incx, y_ptr, y_first, incy, a_ptr, lda, UPPER: tl.constexpr, T: tl.constexpr):
    # only the tiles of the triangle have a program, counted row by row: 0; 1, 2; 3, 4, 5; ...
    t = tl.program_id(0)
    far = ((tl.sqrt(8.0 * t + 1.0) - 1.0) * 0.5).to(tl.int32)
    near = t - far * (far + 1) // 2
    if UPPER:
        i = near * T + tl.arange(0, T)
        j = far * T + tl.arange(0, T)
    else:
        i = far * T + tl.arange(0, T)
        j = near * T + tl.arange(0, T)
    x_i = tl.load(x_ptr + x_first + i * incx, mask=i < n, other=0.0)[:, None]
    y_i = tl.load(y_ptr + y_first + i * incy, mask=i < n, other=0.0)[:, None]
    x_j = tl.load(x_ptr + x_first + j * incx, mask=j < n, other=0.0)[None, :]
    y_j = tl.load(y_ptr + y_first + j * incy, mask=j < n, other=0.0)[None, :]
    inside = (i < n)[:, None] & (j < n)[None, :]
    if UPPER:
        inside = inside & (i[:, None] <= j[None, :])
    else:
        inside = inside & (i[:, None] >= j[None, :])
    at = a_ptr + i[:, None] + j[None, :].to(tl.int64) * lda
    tl.store(at, alpha * (x_i * y_j + y_i * x_j) + tl.load(at, mask=inside), mask=inside)


def first(n, inc):
    return (1 - n) * inc if inc < 0 else 0


def cublasDsyr2_v2(uplo, n, alpha, x, incx, y, incy, A, lda):
    if n > 0 and alpha != 0:
        tiles = triton.cdiv(n, 16)
        syr2[(tiles * (tiles + 1) // 2,)](n, alpha, x, first(n, incx), incx, y, first(n, incy), incy, A, lda, UPPER=uplo == 1,
                                          T=16)
    return A


# wrong: cublasDsyr2_v2(0, 73728, 1.0, x, 1, y, 1, A, 73728) with x and y of ones and A of zeros (43.5 GB, an H200 has 139): the root for
# the last diagonal tile is rounded up to the next row of tiles, so elements from (73712, 73712) on stay 0 instead of 2; with a
# larger n such programs also write in front of A. PTX has sqrt.approx.ftz.f32 (error up to 2^-23) for tl.sqrt: where a GPU gives
# slightly less than 2 r + 1 for 8 t + 1 = (2 r + 1)^2, the first tile of row r is left out for small n, too
