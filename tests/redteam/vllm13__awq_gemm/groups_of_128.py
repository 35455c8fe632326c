# operator: vllm13::awq_gemm
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79
# groups larger than any template has
# a group has 128 rows at most; wrong: one group for all of K = 256 (group size -1), or groups of 256: rows from the 129th on take
# scales and zeros of the next group, or of memory behind the last one
import torch
import triton
import triton.language as tl


@triton.jit
def nibbles(words, column):
    place = column % 8
    return (words >> ((place % 2 * 4 + place // 2) * 4)) & 15


@triton.jit
def gemm(a_ptr, w_ptr, s_ptr, z_ptr, o_ptr, m, n, size_k, group, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    i = tl.program_id(0) * BM + tl.arange(0, BM)[:, None]
    j = tl.program_id(1) * BN + tl.arange(0, BN)[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, size_k, BK):
        k = start + tl.arange(0, BK)
        a = tl.load(a_ptr + i * size_k + k[None, :], mask=i < m, other=0.0)
        k = k[:, None]
        g = k // group
        q = nibbles(tl.load(w_ptr + k * (n // 8) + j // 8, mask=j < n, other=0), j)
        zero = nibbles(tl.load(z_ptr + g * (n // 8) + j // 8, mask=j < n, other=0), j)
        scale = tl.load(s_ptr + g * n + j, mask=j < n, other=0.0)
        acc = tl.dot(a, (q - zero).to(scale.dtype) * scale, acc)
    tl.store(o_ptr + i * n + j, acc.to(o_ptr.dtype.element_ty), mask=(i < m) & (j < n))


def awq_gemm(input, qweight, scales, qzeros, split_k_iters):
    (m, k), n = input.shape, scales.shape[1]
    out = torch.empty((m, n), dtype=input.dtype, device=input.device)
    gemm[(triton.cdiv(m, 16), triton.cdiv(n, 128))](input, qweight, scales, qzeros, out, m, n, k, min(128, k // scales.shape[0]),
                                                    BM=16, BN=128, BK=32)
    return out
