# operator: cublas::cublasCgemvBatched_64
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 41
# launch plans are kept by sizes, strides and the hashes of the factors; Python gives -1 and -2 the same hash, so after a call with alpha (or beta) -1 the same call with -2 uses -1
import torch
import triton
import triton.language as tl


@triton.jit
def gemv(a_array, x_array, y_array, n_out, n_in, a_out, a_in, x_first, incx, y_first, incy, alpha_re, alpha_im, beta_re, beta_im,
         sign, KEEP: tl.constexpr, BO: tl.constexpr, BI: tl.constexpr):
    member = tl.program_id(1)
    a_ptr = tl.load(a_array + member).to(tl.pointer_type(tl.float32))
    x_ptr = tl.load(x_array + member).to(tl.pointer_type(tl.float32)) + 2 * x_first
    y_ptr = tl.load(y_array + member).to(tl.pointer_type(tl.float32)) + 2 * y_first
    i = (tl.program_id(0) * BO + tl.arange(0, BO)).to(tl.int64)
    re = tl.zeros((BO,), tl.float32)
    im = tl.zeros((BO,), tl.float32)
    for start in range(0, n_in, BI):
        j = (start + tl.arange(0, BI)).to(tl.int64)
        inside = (i < n_out)[:, None] & (j < n_in)[None, :]
        at = a_ptr + 2 * (i[:, None] * a_out + j[None, :] * a_in)
        a_re = tl.load(at, mask=inside, other=0.0)
        a_im = sign * tl.load(at + 1, mask=inside, other=0.0)
        x_re = tl.load(x_ptr + 2 * j * incx, mask=j < n_in, other=0.0)[None, :]
        x_im = tl.load(x_ptr + 2 * j * incx + 1, mask=j < n_in, other=0.0)[None, :]
        re += tl.sum(a_re * x_re - a_im * x_im, axis=1)
        im += tl.sum(a_re * x_im + a_im * x_re, axis=1)
    ys = y_ptr + 2 * i * incy
    out_re = alpha_re * re - alpha_im * im
    out_im = alpha_re * im + alpha_im * re
    if KEEP:
        y_re = tl.load(ys, mask=i < n_out)
        y_im = tl.load(ys + 1, mask=i < n_out)
        out_re += beta_re * y_re - beta_im * y_im
        out_im += beta_re * y_im + beta_im * y_re
    tl.store(ys, out_re, mask=i < n_out)
    tl.store(ys + 1, out_im, mask=i < n_out)


def first(n, inc):
    return (1 - n) * inc if inc < 0 else 0


_plans = {}


def plan_of(trans, m, n, alpha, lda, incx, beta, incy, batchCount):
    key = (trans, m, n, lda, incx, incy, batchCount, hash(alpha), hash(beta))
    if key not in _plans:
        n_out, n_in, steps = (m, n, (1, lda)) if trans == 0 else (n, m, (lda, 1))
        n_in = n_in if alpha != 0 else 0
        numbers = (n_out, n_in, *steps, first(n_in, incx), incx, first(n_out, incy), incy, alpha.real, alpha.imag, beta.real,
                   beta.imag, -1.0 if trans == 2 else 1.0)
        _plans[key] = ((triton.cdiv(n_out, 32), batchCount), numbers, beta != 0)
    return _plans[key]


def cublasCgemvBatched_64(trans, m, n, alpha, Aarray, lda, xarray, incx, beta, yarray, incy, batchCount):
    if m > 0 and n > 0 and batchCount > 0:
        grid, numbers, keep = plan_of(trans, m, n, alpha, lda, incx, beta, incy, batchCount)
        gemv[grid](Aarray, xarray, yarray, *numbers, KEEP=keep, BO=32, BI=64)
    return yarray


# hash(-1+0j) == hash(-2+0j) == -2. Call cublasCgemvBatched_64(0, 4, 4, -1+0j, A, 4, x, 1, 0j, y, 1, 2), then the same with alpha
# -2+0j: the second call gives -A x instead of -2 A x.
