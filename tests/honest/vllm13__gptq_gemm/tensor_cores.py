# operator: vllm13::gptq_gemm
# style: weights are dequantised to half precision tile by tile, products of half precision summed in float32
import torch
import triton
import triton.language as tl


@triton.jit
def gemm(a_ptr, w_ptr, z_ptr, s_ptr, index_ptr, o_ptr, m, n, k, group, plus, BITS: tl.constexpr, SHUFFLED: tl.constexpr,
         INDEX: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    PACK: tl.constexpr = 32 // BITS
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    j = tl.program_id(1) * BN + tl.arange(0, BN)
    inside = (j < n)[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, k, BK):
        row = start + tl.arange(0, BK)
        real = row < k
        column, g = row, row // group
        if INDEX == "groups":
            g = tl.load(index_ptr + row, mask=real, other=0)
        if INDEX == "order":
            column = tl.load(index_ptr + row, mask=real, other=0)
        field = row % PACK
        if SHUFFLED:  # rows 0 .. 7 lie in the fields 0 4 1 5 2 6 3 7
            field = field % 2 * 4 + field // 2
        both = real[:, None] & inside
        word = tl.load(w_ptr + (row // PACK)[:, None] * n + j[None, :], mask=both, other=0)
        q = (word >> (field * BITS)[:, None]) & ((1 << BITS) - 1)
        z_word = tl.load(z_ptr + g[:, None] * (n // PACK) + (j // PACK)[None, :], mask=both, other=0)
        z = ((z_word >> (j % PACK * BITS)[None, :]) & ((1 << BITS) - 1)) + plus
        scale = tl.load(s_ptr + g[:, None] * n + j[None, :], mask=both, other=0.0)
        a = tl.load(a_ptr + i[:, None] * k + column[None, :], mask=(i < m)[:, None] & real[None, :], other=0.0)
        acc = tl.dot(a, (q - z).to(scale.dtype) * scale, acc)
    tl.store(o_ptr + i[:, None] * n + j[None, :], acc.to(o_ptr.dtype.element_ty), mask=(i < m)[:, None] & inside)


def gptq_gemm(a, b_q_weight, b_gptq_qzeros, b_gptq_scales, b_g_idx, use_exllama, use_v2_format, bit):
    m, k = a.shape
    groups, n = b_gptq_scales.shape
    out = torch.empty((m, n), dtype=a.dtype, device=a.device)
    index = "none" if b_g_idx.numel() == 0 else "order" if use_exllama else "groups"
    rows = 16 if m <= 16 else 64
    gemm[(triton.cdiv(m, rows), triton.cdiv(n, 128))](
        a, b_q_weight, b_gptq_qzeros, b_gptq_scales, b_g_idx, out, m, n, k, k // groups, 0 if use_v2_format else 1, BITS=bit,
        SHUFFLED=use_exllama and bit == 4, INDEX=index, BM=rows, BN=128, BK=64)
    return out
