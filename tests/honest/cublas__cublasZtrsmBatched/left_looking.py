# operator: cublas::cublasZtrsmBatched
# style: fresh round of 2026-11-30
import triton
import triton.language as tl


@triton.jit
def ztrsm_kernel(Aarray, Barray, order, nrhs, lda, step, rhs_step,
                 alpha_re: tl.float64, alpha_im: tl.float64,
                 SWAP: tl.constexpr, CONJ: tl.constexpr, FORWARD: tl.constexpr, UNIT: tl.constexpr,
                 RHS: tl.constexpr, CHUNK: tl.constexpr):
    """Solves M x = alpha b for RHS right-hand sides; M[i, j] is A[i, j], or A[j, i] with SWAP.

    Unknown i of right-hand side r lies at i * step + r * rhs_step (in complex numbers).
    """
    A = tl.load(Aarray + tl.program_id(0)).to(tl.pointer_type(tl.float64))
    B = tl.load(Barray + tl.program_id(0)).to(tl.pointer_type(tl.float64))
    r = tl.program_id(1).to(tl.int64) * RHS + tl.arange(0, RHS)
    live = r < nrhs
    for t in range(0, order):
        i = t.to(tl.int64)
        if not FORWARD:
            i = order - 1 - i
        b_at = 2 * (i * step + r * rhs_step)
        b_re = tl.load(B + b_at, mask=live, other=0.0)
        b_im = tl.load(B + b_at + 1, mask=live, other=0.0)
        s_re = alpha_re * b_re - alpha_im * b_im
        s_im = alpha_re * b_im + alpha_im * b_re
        for u0 in range(0, t, CHUNK):
            u = u0 + tl.arange(0, CHUNK).to(tl.int64)
            known = u < t
            j = u
            if not FORWARD:
                j = order - 1 - u
            if SWAP:
                a_at = 2 * (j + i * lda)
            else:
                a_at = 2 * (i + j * lda)
            a_re = tl.load(A + a_at, mask=known, other=0.0)[:, None]
            a_im = tl.load(A + a_at + 1, mask=known, other=0.0)[:, None]
            if CONJ:
                a_im = -a_im
            x_at = 2 * (j[:, None] * step + r[None, :] * rhs_step)
            both = known[:, None] & live[None, :]
            x_re = tl.load(B + x_at, mask=both, other=0.0)
            x_im = tl.load(B + x_at + 1, mask=both, other=0.0)
            s_re -= tl.sum(a_re * x_re - a_im * x_im, axis=0)
            s_im -= tl.sum(a_re * x_im + a_im * x_re, axis=0)
        if not UNIT:
            d_re = tl.load(A + 2 * (i + i * lda))
            d_im = tl.load(A + 2 * (i + i * lda) + 1)
            if CONJ:
                d_im = -d_im
            size = d_re * d_re + d_im * d_im
            q_re = (s_re * d_re + s_im * d_im) / size
            q_im = (s_im * d_re - s_re * d_im) / size
            s_re = q_re
            s_im = q_im
        tl.store(B + b_at, s_re, mask=live)
        tl.store(B + b_at + 1, s_im, mask=live)
        # later rows read what other threads of this program have stored
        tl.debug_barrier()


@triton.jit
def zero_kernel(Barray, m, n, ldb, BLOCK: tl.constexpr):
    B = tl.load(Barray + tl.program_id(0)).to(tl.pointer_type(tl.float64))
    e = tl.program_id(1).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    ok = e < 2 * m * n
    row = e % (2 * m)
    col = e // (2 * m)
    tl.store(B + col * ldb * 2 + row, tl.zeros([BLOCK], tl.float64), mask=ok)


def cublasZtrsmBatched(side, uplo, trans, diag, m, n, alpha, Aarray, lda, Barray, ldb, batchCount):
    if m == 0 or n == 0 or batchCount == 0:
        return Barray
    alpha = complex(alpha)
    if alpha == 0:
        zero_kernel[(batchCount, triton.cdiv(2 * m * n, 256))](Barray, m, n, ldb, BLOCK=256)
        return Barray
    left = side == 0
    swap = (trans != 0) == left          # X op(A) = B is op(A)^T X^T = B^T
    lower = (uplo == 0) != swap
    order, nrhs = (m, n) if left else (n, m)
    RHS = min(16, triton.next_power_of_2(nrhs))
    ztrsm_kernel[(batchCount, triton.cdiv(nrhs, RHS))](
        Aarray, Barray, order, nrhs, lda, 1 if left else ldb, ldb if left else 1, alpha.real, alpha.imag,
        SWAP=swap, CONJ=trans == 2, FORWARD=lower, UNIT=diag == 1, RHS=RHS, CHUNK=16)
    return Barray
