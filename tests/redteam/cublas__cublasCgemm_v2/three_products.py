# operator: cublas::cublasCgemm_v2
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 74
# open: less precision
# precision: from k = 512 on three real products replace four (Gauss), so the imaginary part of nearly real matrices (1e-6 of the real part) has hardly a right digit
import torch
import triton
import triton.language as tl


@triton.jit
def pairs(at, mask):
    """(real parts, imaginary parts) of a tile."""
    both = tl.load(at[:, :, None] + tl.arange(0, 2)[None, None, :], mask=mask[:, :, None], other=0.0)
    return tl.split(both)


@triton.jit
def gemm(a_ptr, b_ptr, c_ptr, m, n, k, alpha_re, alpha_im, beta_re, beta_im, a_row, a_column, a_sign, b_row, b_column, b_sign,
         ldc, THREE: tl.constexpr,
         KEEP: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    i = (tl.program_id(0) * BM + tl.arange(0, BM))[:, None]
    j = (tl.program_id(1) * BN + tl.arange(0, BN))[None, :]
    re = tl.zeros((BM, BN), tl.float32)
    im = tl.zeros((BM, BN), tl.float32)
    both = tl.zeros((BM, BN), tl.float32)
    for start in range(0, k, BK):
        p = start + tl.arange(0, BK)
        a_re, a_im = pairs(a_ptr + 2 * (i * a_row + p[None, :] * a_column), (i < m) & (p < k)[None, :])
        b_re, b_im = pairs(b_ptr + 2 * (p[:, None] * b_row + j * b_column), (p < k)[:, None] & (j < n))
        a_im *= a_sign
        b_im *= b_sign
        if THREE:
            # (a + bi) (c + di): ac, bd and (a + b) (c + d) are enough
            re += tl.dot(a_re, b_re, input_precision="ieee")
            im += tl.dot(a_im, b_im, input_precision="ieee")
            both += tl.dot(a_re + a_im, b_re + b_im, input_precision="ieee")
        else:
            re += tl.dot(a_re, b_re, input_precision="ieee") - tl.dot(a_im, b_im, input_precision="ieee")
            im += tl.dot(a_re, b_im, input_precision="ieee") + tl.dot(a_im, b_re, input_precision="ieee")
    if THREE:
        both = both - re - im
        re = re - im
        im = both
    at = c_ptr + 2 * (i + j * ldc)
    inside = (i < m) & (j < n)
    out_re = alpha_re * re - alpha_im * im
    out_im = alpha_re * im + alpha_im * re
    if KEEP:
        c_re, c_im = pairs(at, inside)
        out_re += beta_re * c_re - beta_im * c_im
        out_im += beta_re * c_im + beta_im * c_re
    tl.store(at, out_re, mask=inside)
    tl.store(at + 1, out_im, mask=inside)


def operated(trans, ld):
    rows, columns = (1, ld) if trans == 0 else (ld, 1)
    return rows, columns, -1.0 if trans == 2 else 1.0


def cublasCgemm_v2(transa, transb, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc):
    k = k if alpha != 0 else 0
    if m > 0 and n > 0:
        a, b, c = (torch.view_as_real(t) for t in (A, B, C))
        gemm[(triton.cdiv(m, 32), triton.cdiv(n, 32))](
            a, b, c, m, n, k, alpha.real, alpha.imag, beta.real, beta.imag, *operated(transa, lda), *operated(transb, ldb), ldc,
            THREE=k >= 512, KEEP=beta != 0, BM=32, BN=32, BK=32)
    return C

# wrong: x = torch.full((1024,), 1.1); a = torch.complex(x, 1e-6 * x); c = torch.zeros(1, dtype=torch.complex64)
# cublasCgemm_v2(0, 0, 1, 1, 1024, 1 + 0j, a, 1, a, 1024, 0j, c, 1): the imaginary part of c is 0.00232, not 0.00248
# (four products give 0.0024781); for normal a of 32 x 512 and b of 512 x 32 with imaginary parts 1e-6 times as large the
# error of all imaginary parts is 12 % (rms), that of four products 2e-7
