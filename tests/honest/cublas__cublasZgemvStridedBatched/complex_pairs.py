# operator: cublas::cublasZgemvStridedBatched
# style: helper jit functions, constexpr flags, complex pairs, 2-d grid
import torch
import triton
import triton.language as tl

# One program makes BLOCK_R elements of one y.  The other dimension is walked in steps of BLOCK_K.


@triton.jit
def cmul(ar, ai, br, bi):
    return ar * br - ai * bi, ar * bi + ai * br


@triton.jit
def load_pair(ptr, offset, mask):
    re = tl.load(ptr + 2 * offset, mask=mask, other=0.0)
    im = tl.load(ptr + 2 * offset + 1, mask=mask, other=0.0)
    return re, im


@triton.jit
def zgemv_kernel(
    a_ptr, x_ptr, y_ptr,
    rows, inner,
    row_step, inner_step, stride_a,
    incx, x_begin, stride_x,
    incy, y_begin, stride_y,
    alpha_re: tl.float64, alpha_im: tl.float64, beta_re: tl.float64, beta_im: tl.float64,
    CONJ: tl.constexpr, USE_ALPHA: tl.constexpr, USE_BETA: tl.constexpr,
    BLOCK_R: tl.constexpr, BLOCK_K: tl.constexpr,
):
    batch = tl.program_id(1).to(tl.int64)
    r = tl.program_id(0).to(tl.int64) * BLOCK_R + tl.arange(0, BLOCK_R)
    r_ok = r < rows
    out_re = tl.zeros([BLOCK_R], dtype=tl.float64)
    out_im = tl.zeros([BLOCK_R], dtype=tl.float64)
    if USE_ALPHA:
        acc_re = tl.zeros([BLOCK_R, BLOCK_K], dtype=tl.float64)
        acc_im = tl.zeros([BLOCK_R, BLOCK_K], dtype=tl.float64)
        for k0 in range(0, inner, BLOCK_K):
            k = k0 + tl.arange(0, BLOCK_K).to(tl.int64)
            k_ok = k < inner
            at = batch * stride_a + r[:, None] * row_step + k[None, :] * inner_step
            m_re, m_im = load_pair(a_ptr, at, r_ok[:, None] & k_ok[None, :])
            if CONJ:
                m_im = -m_im
            v_re, v_im = load_pair(x_ptr, batch * stride_x + x_begin + k * incx, k_ok)
            p_re, p_im = cmul(m_re, m_im, v_re[None, :], v_im[None, :])
            acc_re += p_re
            acc_im += p_im
        out_re, out_im = cmul(alpha_re, alpha_im, tl.sum(acc_re, axis=1), tl.sum(acc_im, axis=1))
    y_at = batch * stride_y + y_begin + r * incy
    if USE_BETA:
        old_re, old_im = load_pair(y_ptr, y_at, r_ok)
        b_re, b_im = cmul(beta_re, beta_im, old_re, old_im)
        out_re += b_re
        out_im += b_im
    tl.store(y_ptr + 2 * y_at, out_re, mask=r_ok)
    tl.store(y_ptr + 2 * y_at + 1, out_im, mask=r_ok)


def cublasZgemvStridedBatched(trans, m, n, alpha, A, lda, strideA, x, incx, stridex, beta, y, incy, stridey, batchCount):
    if m == 0 or n == 0 or batchCount == 0:
        return y
    alpha = complex(alpha)
    beta = complex(beta)
    if trans == 0:
        rows, inner, row_step, inner_step = m, n, 1, lda
    else:
        rows, inner, row_step, inner_step = n, m, lda, 1
    x_begin = 0 if incx > 0 else (1 - inner) * incx
    y_begin = 0 if incy > 0 else (1 - rows) * incy
    BLOCK_R = 32
    grid = (triton.cdiv(rows, BLOCK_R), batchCount)
    zgemv_kernel[grid](
        torch.view_as_real(A), torch.view_as_real(x), torch.view_as_real(y),
        rows, inner, row_step, inner_step, strideA,
        incx, x_begin, stridex, incy, y_begin, stridey,
        alpha.real, alpha.imag, beta.real, beta.imag,
        CONJ=trans == 2, USE_ALPHA=alpha != 0, USE_BETA=beta != 0,
        BLOCK_R=BLOCK_R, BLOCK_K=16, num_warps=4,
    )
    return y
