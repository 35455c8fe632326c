# operator: cublas::cublasZgemmBatched
# style: a helper that multiplies complex numbers, for products and for alpha and beta
import torch
import triton
import triton.language as tl


@triton.jit
def times(a_re, a_im, b_re, b_im):
    return a_re * b_re - a_im * b_im, a_re * b_im + a_im * b_re


@triton.jit
def gemm(a_array, b_array, c_array, m, n, k, alpha_re: tl.float64, alpha_im: tl.float64, beta_re: tl.float64,
         beta_im: tl.float64, a_row, a_column, a_sign, b_row, b_column, b_sign, ldc, KEEP: tl.constexpr, T: tl.constexpr,
         TK: tl.constexpr):
    a_ptr = tl.load(a_array + tl.program_id(2)).to(tl.pointer_type(tl.float64))
    b_ptr = tl.load(b_array + tl.program_id(2)).to(tl.pointer_type(tl.float64))
    c_ptr = tl.load(c_array + tl.program_id(2)).to(tl.pointer_type(tl.float64))
    i = (tl.program_id(0).to(tl.int64) * T + tl.arange(0, T))[:, None]
    j = (tl.program_id(1).to(tl.int64) * T + tl.arange(0, T))[None, :]
    re = tl.zeros((T, T), tl.float64)
    im = tl.zeros((T, T), tl.float64)
    for start in range(0, k, TK):
        p = start + tl.arange(0, TK)
        a_at = a_ptr + 2 * (i * a_row + p[None, :] * a_column)
        b_at = b_ptr + 2 * (j * b_column + p[:, None] * b_row)
        a_re = tl.load(a_at, mask=(i < m) & (p < k)[None, :], other=0.0)
        a_im = a_sign * tl.load(a_at + 1, mask=(i < m) & (p < k)[None, :], other=0.0)
        b_re = tl.load(b_at, mask=(p < k)[:, None] & (j < n), other=0.0)
        b_im = b_sign * tl.load(b_at + 1, mask=(p < k)[:, None] & (j < n), other=0.0)
        part_re, part_im = times(a_re[:, :, None], a_im[:, :, None], b_re[None, :, :], b_im[None, :, :])
        re += tl.sum(part_re, axis=1)
        im += tl.sum(part_im, axis=1)
    at = c_ptr + 2 * (i + j * ldc)
    inside = (i < m) & (j < n)
    re, im = times(re, im, alpha_re, alpha_im)
    if KEEP:
        old_re, old_im = times(tl.load(at, mask=inside, other=0.0), tl.load(at + 1, mask=inside, other=0.0), beta_re, beta_im)
        re += old_re
        im += old_im
    tl.store(at, re, mask=inside)
    tl.store(at + 1, im, mask=inside)


def operated(trans, ld):
    return (1, ld, 1.0) if trans == 0 else (ld, 1, -1.0 if trans == 2 else 1.0)


def cublasZgemmBatched(transa, transb, m, n, k, alpha, Aarray, lda, Barray, ldb, beta, Carray, ldc, batchCount):
    k = k if alpha != 0 else 0
    if m > 0 and n > 0 and batchCount > 0:
        gemm[(triton.cdiv(m, 32), triton.cdiv(n, 32), batchCount)](
            Aarray, Barray, Carray, m, n, k, alpha.real, alpha.imag, beta.real, beta.imag,
            *operated(transa, lda), *operated(transb, ldb), ldc, KEEP=beta != 0, T=32, TK=8, num_warps=8)
    return Carray
