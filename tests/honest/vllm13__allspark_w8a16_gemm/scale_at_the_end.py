# operator: vllm13::allspark_w8a16_gemm
# style: whole numbers up to 128 are exact in half precision, so one scale per column is applied to the float32 sum
import torch
import triton
import triton.language as tl


@triton.jit
def gemm(a_ptr, q_ptr, s_ptr, o_ptr, m, n, size_k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    j = tl.program_id(1) * BN + tl.arange(0, BN)
    of_column = (j // 32 * 8 + j % 8) * 4 * size_k + j % 32 // 16 * 8 + j % 16 // 8 * 4
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, size_k, BK):
        k = start + tl.arange(0, BK)
        a = tl.load(a_ptr + i[:, None] * size_k + k[None, :], mask=(i < m)[:, None] & (k < size_k)[None, :], other=0.0)
        of_row = k // 16 * 64 + k % 8 // 2 * 16 + k % 16 // 8 * 2 + k % 2
        inside = (k < size_k)[:, None] & (j < n)[None, :]
        q = tl.load(q_ptr + of_row[:, None] + of_column[None, :], mask=inside, other=128)
        acc = tl.dot(a, (q.to(tl.int32) - 128).to(a.dtype), acc)
    scale = tl.load(s_ptr + j // 32 * 32 + j % 8 * 4 + j % 32 // 8, mask=j < n, other=0.0)
    acc *= scale.to(tl.float32)[None, :]
    tl.store(o_ptr + i[:, None] * n + j[None, :], acc.to(o_ptr.dtype.element_ty), mask=(i < m)[:, None] & (j < n)[None, :])


def allspark_w8a16_gemm(a, b_qweight, b_scales, b_qzeros, n, group_size, sm_count, sm_version, CUBLAS_M_THRESHOLD, has_zp,
                        n32k16_reorder):
    m, k = a.shape
    out = torch.empty((m, n), dtype=a.dtype, device=a.device)
    gemm[(triton.cdiv(m, 32), triton.cdiv(n, 64))](a, b_qweight, b_scales, out, m, n, k, BM=32, BN=64, BK=64)
    return out
