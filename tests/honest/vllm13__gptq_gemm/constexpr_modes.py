# operator: vllm13::gptq_gemm
# style: 2-d tiles, constexpr modes, float32 dot (ieee), masks on every edge
import torch
import triton
import triton.language as tl


@triton.jit
def gptq_kernel(
    a_ptr, qw_ptr, qz_ptr, scale_ptr, idx_ptr, c_ptr,
    M, N, K, group_size,
    BITS: tl.constexpr, SHUFFLED: tl.constexpr, ZERO_PLUS: tl.constexpr,
    IDX_IS_GROUP: tl.constexpr, IDX_IS_COLUMN: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    PACK: tl.constexpr = 32 // BITS
    FIELD: tl.constexpr = (1 << BITS) - 1
    m = tl.program_id(1) * BLOCK_M + tl.arange(0, BLOCK_M)
    n = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    m_ok = m < M
    n_ok = n < N
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k0 in range(0, K, BLOCK_K):
        k = k0 + tl.arange(0, BLOCK_K)
        k_ok = k < K
        column = k
        group = k // group_size
        if IDX_IS_COLUMN:
            column = tl.load(idx_ptr + k, mask=k_ok, other=0)
        if IDX_IS_GROUP:
            group = tl.load(idx_ptr + k, mask=k_ok, other=0)
        a = tl.load(a_ptr + m[:, None].to(tl.int64) * K + column[None, :],
                    mask=m_ok[:, None] & k_ok[None, :], other=0.0).to(tl.float32)
        if SHUFFLED:
            field = (k % 8) // 2 + 4 * (k % 2)
        else:
            field = k % PACK
        kn = k_ok[:, None] & n_ok[None, :]
        word = tl.load(qw_ptr + (k // PACK)[:, None].to(tl.int64) * N + n[None, :], mask=kn, other=0)
        q = (word >> (field * BITS)[:, None]) & FIELD
        zword = tl.load(qz_ptr + group[:, None].to(tl.int64) * (N // PACK) + (n // PACK)[None, :], mask=kn, other=0)
        z = ((zword >> ((n % PACK) * BITS)[None, :]) & FIELD) + ZERO_PLUS
        s = tl.load(scale_ptr + group[:, None].to(tl.int64) * N + n[None, :], mask=kn, other=0.0).to(tl.float32)
        w = (q - z).to(tl.float32) * s
        acc = tl.dot(a, w, acc, input_precision="ieee")
    tl.store(c_ptr + m[:, None].to(tl.int64) * N + n[None, :], acc.to(c_ptr.dtype.element_ty),
             mask=m_ok[:, None] & n_ok[None, :])


def gptq_gemm(a, b_q_weight, b_gptq_qzeros, b_gptq_scales, b_g_idx, use_exllama, use_v2_format, bit):
    M, K = a.shape
    N = b_q_weight.shape[1]
    c = torch.empty((M, N), dtype=a.dtype, device=a.device)
    if c.numel() == 0:
        return c
    groups = b_gptq_scales.shape[0]
    has_idx = b_g_idx.numel() > 0
    grid = (triton.cdiv(N, 32), triton.cdiv(M, 16))
    gptq_kernel[grid](
        a, b_q_weight, b_gptq_qzeros, b_gptq_scales, b_g_idx, c,
        M, N, K, max(1, K // max(1, groups)),
        BITS=bit, SHUFFLED=bool(use_exllama) and bit == 4, ZERO_PLUS=0 if use_v2_format else 1,
        IDX_IS_GROUP=has_idx and not use_exllama, IDX_IS_COLUMN=has_idx and bool(use_exllama),
        BLOCK_M=16, BLOCK_N=32, BLOCK_K=32,
    )
    return c
