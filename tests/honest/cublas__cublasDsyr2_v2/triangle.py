# operator: cublas::cublasDsyr2_v2
# style: programs of the other triangle end at once; the diagonal tiles are masked
import torch
import triton
import triton.language as tl


@triton.jit
def syr2(n, alpha: tl.float64, x_ptr, x_first, incx, y_ptr, y_first, incy, a_ptr, lda, UPPER: tl.constexpr, T: tl.constexpr):
    rows, columns = tl.program_id(0), tl.program_id(1)
    needed = rows <= columns if UPPER else rows >= columns
    if needed:
        i = rows * T + tl.arange(0, T)
        j = columns * T + tl.arange(0, T)
        x_i = tl.load(x_ptr + x_first + i * incx, mask=i < n, other=0.0)[:, None]
        y_i = tl.load(y_ptr + y_first + i * incy, mask=i < n, other=0.0)[:, None]
        x_j = tl.load(x_ptr + x_first + j * incx, mask=j < n, other=0.0)[None, :]
        y_j = tl.load(y_ptr + y_first + j * incy, mask=j < n, other=0.0)[None, :]
        inside = (i < n)[:, None] & (j < n)[None, :]
        if UPPER:
            inside = inside & (i[:, None] <= j[None, :])
        else:
            inside = inside & (i[:, None] >= j[None, :])
        at = a_ptr + i[:, None] + j[None, :] * lda
        tl.store(at, alpha * (x_i * y_j + y_i * x_j) + tl.load(at, mask=inside), mask=inside)


def first(n, inc):
    return (1 - n) * inc if inc < 0 else 0


def cublasDsyr2_v2(uplo, n, alpha, x, incx, y, incy, A, lda):
    if n > 0 and alpha != 0:
        tiles = triton.cdiv(n, 32)
        syr2[(tiles, tiles)](n, alpha, x, first(n, incx), incx, y, first(n, incy), incy, A, lda, UPPER=uplo == 1, T=32)
    return A
