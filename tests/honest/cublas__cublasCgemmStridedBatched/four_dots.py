# operator: cublas::cublasCgemmStridedBatched
# style: four real dots for a complex one; members by strides that may be 0
import torch
import triton
import triton.language as tl


@triton.jit
def gemm(a_ptr, b_ptr, c_ptr, m, n, k, alpha_re, alpha_im, beta_re, beta_im, a_row, a_column, b_row, b_column, ldc, stride_a,
         stride_b, stride_c, CONJ_A: tl.constexpr, CONJ_B: tl.constexpr, KEEP: tl.constexpr, T: tl.constexpr):
    member = tl.program_id(2).to(tl.int64)
    i = tl.program_id(0) * T + tl.arange(0, T)
    j = tl.program_id(1) * T + tl.arange(0, T)
    re = tl.zeros((T, T), tl.float32)
    im = tl.zeros((T, T), tl.float32)
    for start in range(0, k, T):
        p = start + tl.arange(0, T)
        a_at = a_ptr + 2 * (member * stride_a + i[:, None] * a_row + p[None, :] * a_column)
        b_at = b_ptr + 2 * (member * stride_b + p[:, None] * b_row + j[None, :] * b_column)
        a_in = (i < m)[:, None] & (p < k)[None, :]
        b_in = (p < k)[:, None] & (j < n)[None, :]
        a_re, a_im = tl.load(a_at, mask=a_in, other=0.0), tl.load(a_at + 1, mask=a_in, other=0.0)
        b_re, b_im = tl.load(b_at, mask=b_in, other=0.0), tl.load(b_at + 1, mask=b_in, other=0.0)
        if CONJ_A:
            a_im = -a_im
        if CONJ_B:
            b_im = -b_im
        re = tl.dot(a_re, b_re, re, input_precision="ieee")
        re = tl.dot(-a_im, b_im, re, input_precision="ieee")
        im = tl.dot(a_re, b_im, im, input_precision="ieee")
        im = tl.dot(a_im, b_re, im, input_precision="ieee")
    at = c_ptr + 2 * (member * stride_c + i[:, None] + j[None, :] * ldc)
    inside = (i < m)[:, None] & (j < n)[None, :]
    out_re = alpha_re * re - alpha_im * im
    out_im = alpha_re * im + alpha_im * re
    if KEEP:
        c_re, c_im = tl.load(at, mask=inside, other=0.0), tl.load(at + 1, mask=inside, other=0.0)
        out_re += beta_re * c_re - beta_im * c_im
        out_im += beta_re * c_im + beta_im * c_re
    tl.store(at, out_re, mask=inside)
    tl.store(at + 1, out_im, mask=inside)


def cublasCgemmStridedBatched(transa, transb, m, n, k, alpha, A, lda, strideA, B, ldb, strideB, beta, C, ldc, strideC,
                              batchCount):
    k = k if alpha != 0 else 0
    if m > 0 and n > 0 and batchCount > 0:
        a_steps = (1, lda) if transa == 0 else (lda, 1)
        b_steps = (1, ldb) if transb == 0 else (ldb, 1)
        gemm[(triton.cdiv(m, 32), triton.cdiv(n, 32), batchCount)](
            torch.view_as_real(A), torch.view_as_real(B), torch.view_as_real(C), m, n, k, alpha.real, alpha.imag, beta.real,
            beta.imag,
            *a_steps, *b_steps, ldc, strideA, strideB, strideC, CONJ_A=transa == 2, CONJ_B=transb == 2, KEEP=beta != 0, T=32)
    return C
