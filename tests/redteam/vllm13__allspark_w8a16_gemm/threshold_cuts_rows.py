# operator: vllm13::allspark_w8a16_gemm
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79
# an argument that has one value in all cases
# up to CUBLAS_M_THRESHOLD rows (16 in every case) one tile of 16 rows is computed; wrong: vLLM passes 1024, and from 17 to 1024 rows
# those from the 17th on are never written
import torch
import triton
import triton.language as tl


@triton.jit
def byte_of(k, column, size_k):
    tile = (column // 32 * 8 + column % 8) * 4 * size_k + k // 16 * 64
    return tile + k % 8 // 2 * 16 + column % 32 // 16 * 8 + column % 16 // 8 * 4 + k % 16 // 8 * 2 + k % 2


@triton.jit
def gemm(a_ptr, q_ptr, s_ptr, o_ptr, m, n, size_k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    i = tl.program_id(1) * BM + tl.arange(0, BM)[:, None]
    j = tl.program_id(0) * BN + tl.arange(0, BN)[None, :]
    scale = tl.load(s_ptr + j // 32 * 32 + j % 8 * 4 + j % 32 // 8, mask=j < n, other=0.0)
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, size_k, BK):
        k = start + tl.arange(0, BK)
        a = tl.load(a_ptr + i * size_k + k[None, :], mask=(i < m) & (k < size_k)[None, :], other=0.0)
        k = k[:, None]
        q = tl.load(q_ptr + byte_of(k, j, size_k), mask=(k < size_k) & (j < n), other=128)
        w = (q.to(tl.int16) - 128).to(scale.dtype) * scale
        acc = tl.dot(a, w, acc)
    tl.store(o_ptr + i * n + j, acc.to(o_ptr.dtype.element_ty), mask=(i < m) & (j < n))


def allspark_w8a16_gemm(a, b_qweight, b_scales, b_qzeros, n, group_size, sm_count, sm_version, CUBLAS_M_THRESHOLD, has_zp,
                        n32k16_reorder):
    m, k = a.shape
    out = torch.empty((m, n), dtype=a.dtype, device=a.device)
    few = m <= CUBLAS_M_THRESHOLD
    rows = 16 if few else 64
    tiles = 1 if few else triton.cdiv(m, rows)
    gemm[(triton.cdiv(n, 32), tiles)](a, b_qweight, b_scales, out, m, n, k, BM=rows, BN=32, BK=128)
    return out
