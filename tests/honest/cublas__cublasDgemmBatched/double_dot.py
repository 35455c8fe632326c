# operator: cublas::cublasDgemmBatched
# style: float64 tl.dot, leading dimensions by constexpr flags of transposition
import torch
import triton
import triton.language as tl


@triton.jit
def _dgemm_batched_kernel(
    m, n, k,
    alpha: tl.float64,
    a_array, lda, b_array, ldb,
    beta: tl.float64,
    c_array, ldc,
    TRANS_A: tl.constexpr, TRANS_B: tl.constexpr,
    HAS_BETA: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):
    tiles_m = tl.cdiv(m, BM)
    tiles = tiles_m * tl.cdiv(n, BN)
    pid = tl.program_id(0)
    member = pid // tiles
    tile = pid % tiles

    a_ptr = tl.load(a_array + member).to(tl.pointer_type(tl.float64))
    b_ptr = tl.load(b_array + member).to(tl.pointer_type(tl.float64))
    c_ptr = tl.load(c_array + member).to(tl.pointer_type(tl.float64))

    i = (tile % tiles_m).to(tl.int64) * BM + tl.arange(0, BM)
    j = (tile // tiles_m).to(tl.int64) * BN + tl.arange(0, BN)
    mask_i = i < m
    mask_j = j < n

    acc = tl.zeros((BM, BN), dtype=tl.float64)
    for k0 in range(0, k, BK):
        l = (k0 + tl.arange(0, BK)).to(tl.int64)
        mask_l = l < k
        if TRANS_A:
            a_at = l[None, :] + i[:, None] * lda
        else:
            a_at = i[:, None] + l[None, :] * lda
        if TRANS_B:
            b_at = j[None, :] + l[:, None] * ldb
        else:
            b_at = l[:, None] + j[None, :] * ldb
        a = tl.load(a_ptr + a_at, mask=mask_i[:, None] & mask_l[None, :], other=0.0)
        b = tl.load(b_ptr + b_at, mask=mask_l[:, None] & mask_j[None, :], other=0.0)
        acc = tl.dot(a, b, acc, out_dtype=tl.float64)

    c_at = c_ptr + i[:, None] + j[None, :] * ldc
    mask = mask_i[:, None] & mask_j[None, :]
    res = alpha * acc
    if HAS_BETA:
        res += beta * tl.load(c_at, mask=mask, other=0.0)
    tl.store(c_at, res, mask=mask)


@triton.jit
def _scale_kernel(m, total, beta: tl.float64, c_array, ldc, HAS_BETA: tl.constexpr, BLOCK: tl.constexpr):
    # alpha = 0 or k = 0: only C counts
    blocks = tl.cdiv(total, BLOCK)
    pid = tl.program_id(0).to(tl.int64)
    c_ptr = tl.load(c_array + pid // blocks).to(tl.pointer_type(tl.float64))
    at = (pid % blocks) * BLOCK + tl.arange(0, BLOCK)
    mask = at < total
    c_at = c_ptr + at % m + (at // m) * ldc
    if HAS_BETA:
        res = beta * tl.load(c_at, mask=mask, other=0.0)
    else:
        res = tl.zeros((BLOCK,), dtype=tl.float64)
    tl.store(c_at, res, mask=mask)


def cublasDgemmBatched(transa, transb, m, n, k, alpha, Aarray, lda, Barray, ldb, beta, Carray, ldc, batchCount):
    if m <= 0 or n <= 0 or batchCount <= 0:
        return Carray
    alpha = float(alpha)
    beta = float(beta)
    if alpha == 0.0 or k <= 0:
        if beta != 1.0:
            BLOCK = 1024
            _scale_kernel[(batchCount * triton.cdiv(m * n, BLOCK),)](
                m, m * n, beta, Carray, ldc, HAS_BETA=beta != 0.0, BLOCK=BLOCK, num_warps=4)
        return Carray
    BM = min(64, max(16, triton.next_power_of_2(m)))
    BN = min(64, max(16, triton.next_power_of_2(n)))
    grid = (batchCount * triton.cdiv(m, BM) * triton.cdiv(n, BN),)
    _dgemm_batched_kernel[grid](
        m, n, k, alpha, Aarray, lda, Barray, ldb, beta, Carray, ldc,
        TRANS_A=transa != 0, TRANS_B=transb != 0, HAS_BETA=beta != 0.0,
        BM=BM, BN=BN, BK=16, num_warps=4)
    return Carray
