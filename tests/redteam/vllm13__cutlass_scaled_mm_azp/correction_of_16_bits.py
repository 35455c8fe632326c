# operator: vllm13::cutlass_scaled_mm_azp
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79
# azp_adj passes through int16: column sums beyond 32,767 wrap; no case has any
import torch
import triton
import triton.language as tl


@triton.jit
def gemm(a_ptr, b_ptr, o_ptr, sa_ptr, sb_ptr, adj_ptr, azp_ptr, bias_ptr, m, n, k, sa_step, sb_step, BM: tl.constexpr,
         BN: tl.constexpr, BK: tl.constexpr):
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    j = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.int32)
    for start in range(0, k, BK):
        p = start + tl.arange(0, BK)
        a = tl.load(a_ptr + i[:, None] * k + p[None, :], mask=(i < m)[:, None] & (p < k)[None, :], other=0)
        b = tl.load(b_ptr + p[:, None] + j[None, :] * k, mask=(p < k)[:, None] & (j < n)[None, :], other=0)
        acc = tl.dot(a, b, acc, out_dtype=tl.int32)
    correction = tl.load(adj_ptr + j, mask=j < n, other=0).to(tl.int16).to(tl.int32)[None, :]
    if azp_ptr is not None:
        correction = correction * tl.load(azp_ptr + i, mask=i < m, other=0)[:, None]
    y = (acc - correction).to(tl.float32)
    y = y * tl.load(sa_ptr + i * sa_step, mask=i < m, other=0.0)[:, None] * tl.load(sb_ptr + j * sb_step, mask=j < n,
                                                                                    other=0.0)[None, :]
    if bias_ptr is not None:
        y += tl.load(bias_ptr + j, mask=j < n, other=0.0).to(tl.float32)[None, :]
    tl.store(o_ptr + i[:, None] * n + j[None, :], y.to(o_ptr.dtype.element_ty), mask=(i < m)[:, None] & (j < n)[None, :])


def cutlass_scaled_mm_azp(a, b, scale_a, scale_b, out_dtype, azp_adj, azp=None, bias=None):
    (m, k), n = a.shape, b.shape[1]
    out = torch.empty((m, n), dtype=out_dtype, device=a.device)
    gemm[(triton.cdiv(m, 32), triton.cdiv(n, 64))](
        a, b, out, scale_a, scale_b, azp_adj, azp, bias, m, n, k, 1 if scale_a.shape[0] > 1 else 0,
        1 if scale_b.shape[1] > 1 else 0, BM=32, BN=64, BK=64)
    return out
