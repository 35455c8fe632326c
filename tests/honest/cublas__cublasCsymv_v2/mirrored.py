# operator: cublas::cublasCsymv_v2
# style: the missing triangle is read through swapped indices
import torch
import triton
import triton.language as tl


@triton.jit
def symv(n, n_terms, a_ptr, lda, x_ptr, x_first, incx, y_ptr, y_first, incy, alpha_re, alpha_im, beta_re, beta_im,
         UPPER: tl.constexpr, KEEP: tl.constexpr, T: tl.constexpr):
    i = tl.program_id(0) * T + tl.arange(0, T)
    re = tl.zeros((T,), tl.float32)
    im = tl.zeros((T,), tl.float32)
    for start in range(0, n_terms, T):
        j = start + tl.arange(0, T)
        inside = (i < n)[:, None] & (j < n)[None, :]
        low = tl.minimum(i[:, None], j[None, :])
        high = tl.maximum(i[:, None], j[None, :])
        at = a_ptr + 2 * (low + high * lda if UPPER else high + low * lda)
        a_re = tl.load(at, mask=inside, other=0.0)
        a_im = tl.load(at + 1, mask=inside, other=0.0)
        xs = x_ptr + 2 * (x_first + j * incx)
        x_re = tl.load(xs, mask=j < n, other=0.0)[None, :]
        x_im = tl.load(xs + 1, mask=j < n, other=0.0)[None, :]
        re += tl.sum(a_re * x_re - a_im * x_im, axis=1)
        im += tl.sum(a_re * x_im + a_im * x_re, axis=1)
    ys = y_ptr + 2 * (y_first + i * incy)
    out_re = alpha_re * re - alpha_im * im
    out_im = alpha_re * im + alpha_im * re
    if KEEP:
        y_re = tl.load(ys, mask=i < n)
        y_im = tl.load(ys + 1, mask=i < n)
        out_re += beta_re * y_re - beta_im * y_im
        out_im += beta_re * y_im + beta_im * y_re
    tl.store(ys, out_re, mask=i < n)
    tl.store(ys + 1, out_im, mask=i < n)


def first(n, inc):
    return (1 - n) * inc if inc < 0 else 0


def cublasCsymv_v2(uplo, n, alpha, A, lda, x, incx, beta, y, incy):
    if n > 0:
        a, xs, ys = (torch.view_as_real(t) for t in (A, x, y))
        symv[(triton.cdiv(n, 64),)](n, n if alpha != 0 else 0, a, lda, xs, first(n, incx), incx, ys, first(n, incy), incy,
                                    alpha.real, alpha.imag, beta.real, beta.imag, UPPER=uplo == 1, KEEP=beta != 0, T=64)
    return y
