# operator: cublas::cublasCgemm_v2
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79
# old results outside of the range of their fill
# the old C is cut off at 65504 (and NaN in it is dropped): no case with beta other than 0 has elements beyond a few hundred; wrong:
# beta = 1 and C = 1e6 (sums that are added up over several calls)
import torch
import triton
import triton.language as tl


@triton.jit
def _load_complex(ptr, row, col, ld, rows, cols, CONJ: tl.constexpr):
    """Tile of a matrix by columns: real and imaginary parts, zero outside."""
    at = ptr + 2 * (row + col * ld)
    mask = (row < rows) & (col < cols)
    re = tl.load(at, mask=mask, other=0.0)
    im = tl.load(at + 1, mask=mask, other=0.0)
    if CONJ:
        im = -im
    return re, im


@triton.jit
def _cgemm_kernel(
    a_ptr,
    b_ptr,
    c_ptr,
    m,
    n,
    k,
    lda,
    ldb,
    ldc,
    alpha_re,
    alpha_im,
    beta_re,
    beta_im,
    OP_A: tl.constexpr,
    OP_B: tl.constexpr,
    HAS_PRODUCT: tl.constexpr,
    HAS_OLD: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    rm = (tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)).to(tl.int64)
    rn = (tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)).to(tl.int64)
    out_re = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    out_im = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)

    if HAS_PRODUCT:
        acc_re = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
        acc_im = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
        for start in range(0, k, BLOCK_K):
            rk = (start + tl.arange(0, BLOCK_K)).to(tl.int64)
            if OP_A == 0:
                a_re, a_im = _load_complex(a_ptr, rm[:, None], rk[None, :], lda, m, k, False)
            else:
                a_re, a_im = _load_complex(a_ptr, rk[None, :], rm[:, None], lda, k, m, OP_A == 2)
            if OP_B == 0:
                b_re, b_im = _load_complex(b_ptr, rk[:, None], rn[None, :], ldb, k, n, False)
            else:
                b_re, b_im = _load_complex(b_ptr, rn[None, :], rk[:, None], ldb, n, k, OP_B == 2)
            acc_re = tl.dot(a_re, b_re, acc_re, input_precision="ieee")
            acc_re = tl.dot(-a_im, b_im, acc_re, input_precision="ieee")
            acc_im = tl.dot(a_re, b_im, acc_im, input_precision="ieee")
            acc_im = tl.dot(a_im, b_re, acc_im, input_precision="ieee")
        out_re = alpha_re * acc_re - alpha_im * acc_im
        out_im = alpha_re * acc_im + alpha_im * acc_re

    at = c_ptr + 2 * (rm[:, None] + rn[None, :] * ldc)
    mask = (rm < m)[:, None] & (rn < n)[None, :]
    if HAS_OLD:
        c_re = tl.load(at, mask=mask, other=0.0)
        c_im = tl.load(at + 1, mask=mask, other=0.0)
        c_re = tl.minimum(tl.maximum(c_re, -65504.0), 65504.0)
        c_im = tl.minimum(tl.maximum(c_im, -65504.0), 65504.0)
        out_re += beta_re * c_re - beta_im * c_im
        out_im += beta_re * c_im + beta_im * c_re
    tl.store(at, out_re, mask=mask)
    tl.store(at + 1, out_im, mask=mask)


def _tiles(m, n, k):
    block_m = 64 if m > 32 else (32 if m > 16 else 16)
    block_n = 64 if n > 32 else (32 if n > 16 else 16)
    block_k = 32 if k > 16 else 16
    return block_m, block_n, block_k


def cublasCgemm_v2(transa, transb, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc):
    if m == 0 or n == 0:
        return C
    alpha = complex(alpha)
    beta = complex(beta)
    block_m, block_n, block_k = _tiles(m, n, k)
    _cgemm_kernel[(triton.cdiv(m, block_m), triton.cdiv(n, block_n))](
        torch.view_as_real(A),
        torch.view_as_real(B),
        torch.view_as_real(C),
        m,
        n,
        k,
        lda,
        ldb,
        ldc,
        alpha.real,
        alpha.imag,
        beta.real,
        beta.imag,
        OP_A=transa,
        OP_B=transb,
        HAS_PRODUCT=alpha != 0 and k > 0,
        HAS_OLD=beta != 0,
        BLOCK_M=block_m,
        BLOCK_N=block_n,
        BLOCK_K=block_k,
        num_warps=4,
    )
    return C
