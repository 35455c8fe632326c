# operator: vllm13::gptq_gemm
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79
# open: few verdicts have a call with other activations and the same weights
# of the arguments of a call all or none are the objects of the call before: weights never stay while activations are others
# a launch is bound to its operands once for each layer, which its four weight tensors tell, and repeated where these and the shape
# are the same; the activations of the first call are among the operands. wrong: y1 = gptq_gemm(a1, w, z, s, g, ...), then
# y2 = gptq_gemm(a2, w, z, s, g, ...) with another tensor a2 of the same shape: y2 is a1 @ weight instead of a2 @ weight
import torch
import triton
import triton.language as tl

BOUND = []


@triton.jit
def unpacked(words, field, BITS: tl.constexpr):
    return (words >> (field * BITS)) & ((1 << BITS) - 1)


@triton.jit
def weights(w_ptr, z_ptr, s_ptr, g_ptr, k, j, n, mask, group, more, BITS: tl.constexpr, EXLLAMA: tl.constexpr, GROUPS: tl.constexpr):
    PACK: tl.constexpr = 32 // BITS
    g = tl.load(g_ptr + k, mask=mask, other=0) if GROUPS else k // group
    field = k % PACK
    if EXLLAMA and BITS == 4:
        field = (field >> 1) + ((field & 1) << 2)
    q = unpacked(tl.load(w_ptr + k // PACK * n + j, mask=mask, other=0), field, BITS)
    z = unpacked(tl.load(z_ptr + g * (n // PACK) + j // PACK, mask=mask, other=0), j % PACK, BITS) + more
    s = tl.load(s_ptr + g * n + j, mask=mask, other=0.0)
    return (q - z).to(tl.float32) * s.to(tl.float32)


@triton.jit
def gemm(a_ptr, w_ptr, z_ptr, s_ptr, g_ptr, o_ptr, m, n, size_k, group, more, BITS: tl.constexpr, EXLLAMA: tl.constexpr,
         INDEXED: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    i = tl.program_id(0) * M + tl.arange(0, M)[:, None]
    j = tl.program_id(1) * N + tl.arange(0, N)[None, :]
    total = tl.zeros([M, N], tl.float32)
    for first in range(0, size_k, K):
        k = first + tl.arange(0, K)
        is_row = k < size_k
        column = tl.load(g_ptr + k, mask=is_row, other=0) if INDEXED and EXLLAMA else k
        w = weights(w_ptr, z_ptr, s_ptr, g_ptr, k[:, None], j, n, is_row[:, None] & (j < n), group, more, BITS, EXLLAMA,
                    INDEXED and not EXLLAMA)
        a = tl.load(a_ptr + i * size_k + column[None, :], mask=(i < m) & is_row[None, :], other=0.0)
        total += tl.dot(a.to(tl.float32), w, input_precision="ieee")
    tl.store(o_ptr + i * n + j, total.to(o_ptr.dtype.element_ty), mask=(i < m) & (j < n))


def operands(a, *layer):
    """Those of the latest launch, if the layer and the shape are the same."""
    if BOUND and BOUND[0].shape == a.shape and all(x is y for x, y in zip(BOUND[1:], layer)):
        return BOUND
    BOUND[:] = [a, *layer]
    return BOUND


def gptq_gemm(a, b_q_weight, b_gptq_qzeros, b_gptq_scales, b_g_idx, use_exllama, use_v2_format, bit):
    m, k = a.shape
    n = b_gptq_scales.shape[1]
    out = a.new_empty((m, n))
    gemm[triton.cdiv(m, 32), triton.cdiv(n, 64)](
        *operands(a, b_q_weight, b_gptq_qzeros, b_gptq_scales, b_g_idx), out, m, n, k, k // b_gptq_scales.shape[0],
        int(not use_v2_format), bit, use_exllama, b_g_idx.numel() > 0, M=32, N=64, K=64)
    return out
