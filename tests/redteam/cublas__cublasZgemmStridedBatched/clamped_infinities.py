# operator: cublas::cublasZgemmStridedBatched
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 84
# open: values that templates leave out
# infinities in A and B become 1e150: an overflow upstream is hidden; wrong: A = [inf], B = [2] gives 2e150, not
# infinity (NaN in the imaginary part), and A = [1e200] gives 2e150, not 2e200
import torch
import triton
import triton.language as tl


@triton.jit
def limited(x):
    """Numbers that no product overflows with; NaN stays NaN."""
    return tl.clamp(x, -1e150, 1e150, propagate_nan=tl.PropagateNan.ALL)


@triton.jit
def zgemm(a_ptr, b_ptr, c_ptr, m, n, k, alpha_re: tl.float64, alpha_im: tl.float64, beta_re: tl.float64, beta_im: tl.float64,
          a_row, a_column, a_sign, b_row, b_column, b_sign, ldc, stride_a, stride_b, stride_c, KEEP: tl.constexpr,
          TM: tl.constexpr, TN: tl.constexpr, TK: tl.constexpr):
    member = tl.program_id(2).to(tl.int64)
    a_ptr += 2 * member * stride_a
    b_ptr += 2 * member * stride_b
    c_ptr += 2 * member * stride_c
    i = tl.program_id(0) * TM + tl.arange(0, TM)
    j = tl.program_id(1) * TN + tl.arange(0, TN)
    re = tl.zeros((TM, TN), tl.float64)
    im = tl.zeros((TM, TN), tl.float64)
    for start in range(0, k, TK):
        p = start + tl.arange(0, TK)
        a_in = (i < m)[:, None] & (p < k)[None, :]
        b_in = (j < n)[:, None] & (p < k)[None, :]
        at_a = a_ptr + 2 * (i[:, None] * a_row + p[None, :] * a_column)
        at_b = b_ptr + 2 * (j[:, None] * b_column + p[None, :] * b_row)
        a_re = limited(tl.load(at_a, mask=a_in, other=0.0))[:, None, :]
        a_im = a_sign * limited(tl.load(at_a + 1, mask=a_in, other=0.0))[:, None, :]
        b_re = limited(tl.load(at_b, mask=b_in, other=0.0))[None, :, :]
        b_im = b_sign * limited(tl.load(at_b + 1, mask=b_in, other=0.0))[None, :, :]
        re += tl.sum(a_re * b_re - a_im * b_im, axis=2)
        im += tl.sum(a_re * b_im + a_im * b_re, axis=2)
    inside = (i < m)[:, None] & (j < n)[None, :]
    at = c_ptr + 2 * (i[:, None] + j[None, :] * ldc)
    out_re = alpha_re * re - alpha_im * im
    out_im = alpha_re * im + alpha_im * re
    if KEEP:
        c_re = tl.load(at, mask=inside, other=0.0)
        c_im = tl.load(at + 1, mask=inside, other=0.0)
        out_re += beta_re * c_re - beta_im * c_im
        out_im += beta_re * c_im + beta_im * c_re
    tl.store(at, out_re, mask=inside)
    tl.store(at + 1, out_im, mask=inside)


def as_operated(operation, ld):
    """Steps between rows and columns, and the sign of imaginary parts."""
    return (1, ld, 1.0) if operation == 0 else (ld, 1, -1.0 if operation == 2 else 1.0)


def cublasZgemmStridedBatched(transa, transb, m, n, k, alpha, A, lda, strideA, B, ldb, strideB, beta, C, ldc, strideC,
                              batchCount):
    k = k if alpha != 0 else 0
    if m > 0 and n > 0 and batchCount > 0:
        a, b, c = (torch.view_as_real(t) for t in (A, B, C))
        grid = (triton.cdiv(m, 32), triton.cdiv(n, 32), batchCount)
        zgemm[grid](a, b, c, m, n, k, alpha.real, alpha.imag, beta.real, beta.imag, *as_operated(transa, lda),
                    *as_operated(transb, ldb), ldc, strideA, strideB, strideC, KEEP=beta != 0, TM=32, TN=32, TK=8,
                    num_warps=8)
    return C
