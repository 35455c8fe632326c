# operator: cublas::cublasCsyrkEx
# style: tiles that lie wholly in the other triangle return at once; full float32 dots of real and imaginary parts
import torch
import triton
import triton.language as tl


@triton.jit
def syrk(a_ptr, c_ptr, n, k, a_row, a_column, ldc, alpha_re, alpha_im, beta_re, beta_im, LOWER: tl.constexpr, KEEP: tl.constexpr,
         T: tl.constexpr, TK: tl.constexpr):
    top, left = tl.program_id(0) * T, tl.program_id(1) * T
    if LOWER:
        if top + T <= left:
            return
    else:
        if left + T <= top:
            return
    i = top + tl.arange(0, T)
    j = left + tl.arange(0, T)
    re = tl.zeros((T, T), tl.float32)
    im = tl.zeros((T, T), tl.float32)
    for start in range(0, k, TK):
        p = start + tl.arange(0, TK)
        row = a_ptr + 2 * (i[:, None] * a_row + p[None, :] * a_column)
        column = a_ptr + 2 * (j[None, :] * a_row + p[:, None] * a_column)
        row_in = (i < n)[:, None] & (p < k)[None, :]
        column_in = (j < n)[None, :] & (p < k)[:, None]
        r_re, r_im = tl.load(row, mask=row_in, other=0.0), tl.load(row + 1, mask=row_in, other=0.0)
        c_re, c_im = tl.load(column, mask=column_in, other=0.0), tl.load(column + 1, mask=column_in, other=0.0)
        re += tl.dot(r_re, c_re, input_precision="ieee") - tl.dot(r_im, c_im, input_precision="ieee")
        im += tl.dot(r_re, c_im, input_precision="ieee") + tl.dot(r_im, c_re, input_precision="ieee")
    triangle = (i[:, None] >= j[None, :]) if LOWER else (i[:, None] <= j[None, :])
    inside = triangle & (i < n)[:, None] & (j < n)[None, :]
    at = c_ptr + 2 * (i[:, None] + j[None, :] * ldc)
    out_re = alpha_re * re - alpha_im * im
    out_im = alpha_re * im + alpha_im * re
    if KEEP:
        old_re, old_im = tl.load(at, mask=inside, other=0.0), tl.load(at + 1, mask=inside, other=0.0)
        out_re += beta_re * old_re - beta_im * old_im
        out_im += beta_re * old_im + beta_im * old_re
    tl.store(at, out_re, mask=inside)
    tl.store(at + 1, out_im, mask=inside)


def cublasCsyrkEx(uplo, trans, n, k, alpha, A, Atype, lda, beta, C, Ctype, ldc):
    k = k if alpha != 0 else 0
    if n > 0:
        steps = (1, lda) if trans == 0 else (lda, 1)
        syrk[(triton.cdiv(n, 32), triton.cdiv(n, 32))](
            torch.view_as_real(A), torch.view_as_real(C), n, k, *steps, ldc, alpha.real, alpha.imag, beta.real, beta.imag,
            LOWER=uplo == 0, KEEP=beta != 0, T=32, TK=32)
    return C
