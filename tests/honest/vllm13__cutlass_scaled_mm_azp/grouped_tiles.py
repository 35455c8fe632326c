# operator: vllm13::cutlass_scaled_mm_azp
# style: grouped tile order, heuristics, optional pointers as None, device guard
import torch
import triton
import triton.language as tl


@triton.heuristics({
    "HAS_AZP": lambda args: args["azp_ptr"] is not None,
    "HAS_BIAS": lambda args: args["bias_ptr"] is not None,
    "EVEN_K": lambda args: args["K"] % args["BLOCK_K"] == 0,
})
@triton.jit
def scaled_mm_azp_kernel(
    a_ptr, b_ptr, c_ptr, scale_a_ptr, scale_b_ptr, adj_ptr, azp_ptr, bias_ptr,
    M, N, K,
    stride_am, stride_ak, stride_bk, stride_bn, stride_cm,
    stride_sa, stride_sb, stride_adj, stride_azp, stride_bias,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr,
    HAS_AZP: tl.constexpr, HAS_BIAS: tl.constexpr, EVEN_K: tl.constexpr,
):
    pid = tl.program_id(0)
    tiles_m = tl.cdiv(M, BLOCK_M)
    tiles_n = tl.cdiv(N, BLOCK_N)
    in_group = GROUP_M * tiles_n
    first_m = pid // in_group * GROUP_M
    size_m = min(tiles_m - first_m, GROUP_M)
    pid_m = first_m + (pid % in_group) % size_m
    pid_n = (pid % in_group) // size_m

    rm = (pid_m * BLOCK_M + tl.arange(0, BLOCK_M)).to(tl.int64)
    rn = (pid_n * BLOCK_N + tl.arange(0, BLOCK_N)).to(tl.int64)
    rk = tl.arange(0, BLOCK_K)
    m_ok = rm < M
    n_ok = rn < N
    a_tile = a_ptr + rm[:, None] * stride_am + rk[None, :] * stride_ak
    b_tile = b_ptr + rk[:, None] * stride_bk + rn[None, :] * stride_bn
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.int32)
    for k in range(0, K, BLOCK_K):
        if EVEN_K:
            a = tl.load(a_tile, mask=m_ok[:, None], other=0)
            b = tl.load(b_tile, mask=n_ok[None, :], other=0)
        else:
            a = tl.load(a_tile, mask=m_ok[:, None] & (k + rk < K)[None, :], other=0)
            b = tl.load(b_tile, mask=n_ok[None, :] & (k + rk < K)[:, None], other=0)
        acc = tl.dot(a, b, acc)
        a_tile += BLOCK_K * stride_ak
        b_tile += BLOCK_K * stride_bk

    adj = tl.load(adj_ptr + rn * stride_adj, mask=n_ok, other=0)[None, :]
    if HAS_AZP:
        acc -= tl.load(azp_ptr + rm * stride_azp, mask=m_ok, other=0)[:, None] * adj
    else:
        acc -= adj
    scale_a = tl.load(scale_a_ptr + rm * stride_sa, mask=m_ok, other=0.0)
    scale_b = tl.load(scale_b_ptr + rn * stride_sb, mask=n_ok, other=0.0)
    out = scale_a[:, None] * scale_b[None, :] * acc.to(tl.float32)
    if HAS_BIAS:
        out += tl.load(bias_ptr + rn * stride_bias, mask=n_ok, other=0.0).to(tl.float32)[None, :]
    tl.store(c_ptr + rm[:, None] * stride_cm + rn[None, :], out.to(c_ptr.dtype.element_ty),
             mask=m_ok[:, None] & n_ok[None, :])


def cutlass_scaled_mm_azp(a, b, scale_a, scale_b, out_dtype, azp_adj, azp=None, bias=None):
    M, K = a.shape
    N = b.shape[1]
    c = torch.empty((M, N), dtype=out_dtype, device=a.device)
    if M == 0 or N == 0:
        return c
    BLOCK_M = 16 if M <= 16 else 32
    BLOCK_N = 64
    grid = (triton.cdiv(M, BLOCK_M) * triton.cdiv(N, BLOCK_N),)
    with torch.cuda.device(a.device):
        scaled_mm_azp_kernel[grid](
            a, b, c, scale_a, scale_b, azp_adj, azp, bias,
            M, N, K,
            a.stride(0), a.stride(1), b.stride(0), b.stride(1), c.stride(0),
            scale_a.stride(0) if scale_a.shape[0] > 1 else 0,
            scale_b.stride(1) if scale_b.shape[1] > 1 else 0,
            azp_adj.stride(1),
            azp.stride(0) if azp is not None else 0,
            bias.stride(0) if bias is not None else 0,
            BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_K=64, GROUP_M=8, num_warps=4, num_stages=3,
        )
    return c
