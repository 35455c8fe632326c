# operator: cublas::cublasCsyrkEx
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 74
# open: less precision
# precision: for n from 32 and k from 64 on the complex product is made of three real ones instead of four (Gauss), so where one part of A is much smaller than the other the small part of C is lost in cancellation
import torch
import triton
import triton.language as tl


@triton.jit
def syrk(a_ptr, c_ptr, n, k, a_row, a_column, ldc, alpha_re, alpha_im, beta_re, beta_im, LOWER: tl.constexpr, KEEP: tl.constexpr,
         THREE: tl.constexpr, T: tl.constexpr, TK: tl.constexpr):
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
    both = tl.zeros((T, T), tl.float32)
    for start in range(0, k, TK):
        p = start + tl.arange(0, TK)
        row = a_ptr + 2 * (i[:, None] * a_row + p[None, :] * a_column)
        column = a_ptr + 2 * (j[None, :] * a_row + p[:, None] * a_column)
        row_in = (i < n)[:, None] & (p < k)[None, :]
        column_in = (j < n)[None, :] & (p < k)[:, None]
        r_re, r_im = tl.load(row, mask=row_in, other=0.0), tl.load(row + 1, mask=row_in, other=0.0)
        c_re, c_im = tl.load(column, mask=column_in, other=0.0), tl.load(column + 1, mask=column_in, other=0.0)
        if THREE:
            both = tl.dot(r_re + r_im, c_re, both, input_precision="ieee")
            im = tl.dot(r_re, c_im - c_re, im, input_precision="ieee")
            re = tl.dot(r_im, c_re + c_im, re, input_precision="ieee")
        else:
            re += tl.dot(r_re, c_re, input_precision="ieee") - tl.dot(r_im, c_im, input_precision="ieee")
            im += tl.dot(r_re, c_im, input_precision="ieee") + tl.dot(r_im, c_re, input_precision="ieee")
    if THREE:
        re = both - re
        im = both + im
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
            LOWER=uplo == 0, KEEP=beta != 0, THREE=n >= 32 and k >= 64, T=32, TK=32)
    return C


# A = torch.complex(torch.randn(64 * 64), 1e-6 * torch.randn(64 * 64)): the imaginary part of
# cublasCsyrkEx(0, 0, 64, 64, 1+0j, A, 4, 64, 0j, C, 4, 64) has errors of 10 % and more of its terms instead of 1e-6.
