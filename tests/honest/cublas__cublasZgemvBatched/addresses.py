# operator: cublas::cublasZgemvBatched
# style: addresses of complex numbers become pointers of doubles
import torch
import triton
import triton.language as tl


@triton.jit
def gemv(a_array, x_array, y_array, n_out, n_in, a_out, a_in, sign, x_first, incx, y_first, incy, alpha_re: tl.float64,
         alpha_im: tl.float64, beta_re: tl.float64, beta_im: tl.float64, KEEP: tl.constexpr, BO: tl.constexpr,
         BI: tl.constexpr):
    a_ptr = tl.load(a_array + tl.program_id(1)).to(tl.pointer_type(tl.float64))
    x_ptr = tl.load(x_array + tl.program_id(1)).to(tl.pointer_type(tl.float64))
    y_ptr = tl.load(y_array + tl.program_id(1)).to(tl.pointer_type(tl.float64))
    i = tl.program_id(0) * BO + tl.arange(0, BO)
    re = tl.zeros((BO,), tl.float64)
    im = tl.zeros((BO,), tl.float64)
    for start in range(0, n_in, BI):
        j = start + tl.arange(0, BI)
        xs = x_ptr + 2 * (x_first + j * incx)
        x_re = tl.load(xs, mask=j < n_in, other=0.0)[None, :]
        x_im = tl.load(xs + 1, mask=j < n_in, other=0.0)[None, :]
        at = a_ptr + 2 * (i[:, None] * a_out + j[None, :] * a_in)
        inside = (i < n_out)[:, None] & (j < n_in)[None, :]
        a_re = tl.load(at, mask=inside, other=0.0)
        a_im = sign * tl.load(at + 1, mask=inside, other=0.0)
        re += tl.sum(a_re * x_re - a_im * x_im, axis=1)
        im += tl.sum(a_im * x_re + a_re * x_im, axis=1)
    ys = y_ptr + 2 * (y_first + i * incy)
    y_re = re * alpha_re - im * alpha_im
    y_im = re * alpha_im + im * alpha_re
    if KEEP:
        old_re = tl.load(ys, mask=i < n_out, other=0.0)
        old_im = tl.load(ys + 1, mask=i < n_out, other=0.0)
        y_re += old_re * beta_re - old_im * beta_im
        y_im += old_re * beta_im + old_im * beta_re
    tl.store(ys, y_re, mask=i < n_out)
    tl.store(ys + 1, y_im, mask=i < n_out)


def first(n, inc):
    """Where element 0 of a vector lies."""
    return (1 - n) * inc if inc < 0 else 0


def cublasZgemvBatched(trans, m, n, alpha, Aarray, lda, xarray, incx, beta, yarray, incy, batchCount):
    if m > 0 and n > 0 and batchCount > 0:
        n_out, n_in, steps = (m, n, (1, lda)) if trans == 0 else (n, m, (lda, 1))
        n_in = n_in if alpha != 0 else 0
        gemv[(triton.cdiv(n_out, 64), batchCount)](
            Aarray, xarray, yarray, n_out, n_in, *steps, -1.0 if trans == 2 else 1.0,
            first(n_in, incx), incx, first(n_out, incy), incy, alpha.real, alpha.imag, beta.real, beta.imag, KEEP=beta != 0,
            BO=64, BI=32)
    return yarray
