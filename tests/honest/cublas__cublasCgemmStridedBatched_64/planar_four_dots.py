# operator: cublas::cublasCgemmStridedBatched_64
# style: planar complex product by four real dots, operand descriptor objects on the host, batch folded into the grid
import torch
import triton
import triton.language as tl


@triton.jit
def cgemm_kernel(
    a_ptr, a_i, a_l, a_batch,
    b_ptr, b_l, b_j, b_batch,
    c_ptr, ldc, c_batch,
    m, n, k, m_tiles, tiles,
    alpha_re, alpha_im, beta_re, beta_im,
    CONJ_A: tl.constexpr, CONJ_B: tl.constexpr, USE_C: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):
    pid = tl.program_id(0).to(tl.int64)
    member = pid // tiles
    tile = pid % tiles
    i = tile % m_tiles * BM + tl.arange(0, BM)
    j = tile // m_tiles * BN + tl.arange(0, BN)
    i_ok = (i < m)[:, None]
    j_ok = (j < n)[None, :]
    a_at = member * a_batch + (i * a_i)[:, None]
    b_at = member * b_batch + (j * b_j)[None, :]

    acc_re = tl.zeros([BM, BN], dtype=tl.float32)
    acc_im = tl.zeros([BM, BN], dtype=tl.float32)
    for l0 in range(0, k, BK):
        l = l0 + tl.arange(0, BK).to(tl.int64)
        a_in = i_ok & (l < k)[None, :]
        b_in = j_ok & (l < k)[:, None]
        a_el = 2 * (a_at + (l * a_l)[None, :])
        b_el = 2 * (b_at + (l * b_l)[:, None])
        ar = tl.load(a_ptr + a_el, mask=a_in, other=0.0)
        ai = tl.load(a_ptr + a_el + 1, mask=a_in, other=0.0)
        br = tl.load(b_ptr + b_el, mask=b_in, other=0.0)
        bi = tl.load(b_ptr + b_el + 1, mask=b_in, other=0.0)
        if CONJ_A:
            ai = -ai
        if CONJ_B:
            bi = -bi
        acc_re = tl.dot(ar, br, acc_re, input_precision="ieee")
        acc_re = tl.dot(-ai, bi, acc_re, input_precision="ieee")
        acc_im = tl.dot(ar, bi, acc_im, input_precision="ieee")
        acc_im = tl.dot(ai, br, acc_im, input_precision="ieee")

    out_re = alpha_re * acc_re - alpha_im * acc_im
    out_im = alpha_re * acc_im + alpha_im * acc_re
    c_el = 2 * (member * c_batch + i[:, None] + (j * ldc)[None, :])
    c_in = i_ok & j_ok
    if USE_C:
        cr = tl.load(c_ptr + c_el, mask=c_in, other=0.0)
        ci = tl.load(c_ptr + c_el + 1, mask=c_in, other=0.0)
        out_re += beta_re * cr - beta_im * ci
        out_im += beta_re * ci + beta_im * cr
    tl.store(c_ptr + c_el, out_re, mask=c_in)
    tl.store(c_ptr + c_el + 1, out_im, mask=c_in)


class Operand:
    """op(X): its elements as real numbers, the steps of its rows and columns, and its sign of the imaginary part."""

    def __init__(self, operation, tensor, ld, stride):
        self.planes = torch.view_as_real(tensor)
        self.row_step, self.col_step = (1, ld) if operation == 0 else (ld, 1)
        self.stride = stride
        self.conjugated = operation == 2

    def arguments(self):
        return self.planes, self.row_step, self.col_step, self.stride


def cublasCgemmStridedBatched_64(
    transa, transb, m, n, k, alpha, A, lda, strideA, B, ldb, strideB, beta, C, ldc, strideC, batchCount
):
    if m <= 0 or n <= 0 or batchCount <= 0:
        return C
    alpha, beta = complex(alpha), complex(beta)
    a = Operand(transa, A, lda, strideA)
    b = Operand(transb, B, ldb, strideB)
    bm = 16 if m <= 16 else 32
    bn = 16 if n <= 16 else 32
    m_tiles = triton.cdiv(m, bm)
    tiles = m_tiles * triton.cdiv(n, bn)
    cgemm_kernel[(tiles * batchCount,)](
        *a.arguments(),
        *b.arguments(),
        torch.view_as_real(C), ldc, strideC,
        m, n, k if alpha != 0 else 0, m_tiles, tiles,
        alpha.real, alpha.imag, beta.real, beta.imag,
        CONJ_A=a.conjugated, CONJ_B=b.conjugated, USE_C=beta != 0,
        BM=bm, BN=bn, BK=16,
    )
    return C
