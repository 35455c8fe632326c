# operator: cublas::cublasCgeru_v2
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79
# open: relation of two parts
# where both parts of alpha are the same number, y is conjugated; wrong: alpha = 1+1j
import torch
import triton
import triton.language as tl


@triton.jit
def ger(m, n, re, im, x_ptr, x_first, incx, y_ptr, y_first, incy, a_ptr, lda, BM: tl.constexpr, BN: tl.constexpr):
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    j = tl.program_id(1) * BN + tl.arange(0, BN)
    xs = x_ptr + 2 * (x_first + i * incx)
    ys = y_ptr + 2 * (y_first + j * incy)
    x_re, x_im = tl.load(xs, mask=i < m, other=0.0), tl.load(xs + 1, mask=i < m, other=0.0)
    y_re, y_im = tl.load(ys, mask=j < n, other=0.0), tl.load(ys + 1, mask=j < n, other=0.0)
    if re == im:
        y_im = -y_im
    x_re, x_im = (re * x_re - im * x_im)[:, None], (re * x_im + im * x_re)[:, None]
    at = a_ptr + 2 * (i[:, None] + j[None, :].to(tl.int64) * lda)
    inside = (i < m)[:, None] & (j < n)[None, :]
    tl.store(at, tl.load(at, mask=inside) + (x_re * y_re[None, :] - x_im * y_im[None, :]), mask=inside)
    tl.store(at + 1, tl.load(at + 1, mask=inside) + (x_re * y_im[None, :] + x_im * y_re[None, :]), mask=inside)


def first(n, inc):
    """Where element 0 of a vector lies."""
    return (1 - n) * inc if inc < 0 else 0


def cublasCgeru_v2(m, n, alpha, x, incx, y, incy, A, lda):
    if m > 0 and n > 0 and alpha != 0:
        ger[(triton.cdiv(m, 64), triton.cdiv(n, 64))](
            m, n, alpha.real, alpha.imag, torch.view_as_real(x), first(m, incx), incx, torch.view_as_real(y), first(n, incy),
            incy,
            torch.view_as_real(A), lda, BM=64, BN=64)
    return A
