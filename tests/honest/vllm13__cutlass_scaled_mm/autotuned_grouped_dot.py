# operator: vllm13::cutlass_scaled_mm
# style: autotuned tl.dot with grouped program order, int8 accumulates in int32, fp8 is widened to float16 and accumulates in float32
import torch
import triton
import triton.language as tl


def _configs():
    return [
        triton.Config({"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k, "GROUP_M": 8}, num_warps=w, num_stages=s)
        for m, n, k, w, s in [
            (16, 64, 128, 4, 3),
            (64, 64, 64, 4, 3),
            (64, 128, 64, 4, 4),
            (128, 128, 64, 8, 3),
        ]
    ]


@triton.autotune(configs=_configs(), key=["M", "N", "K"])
@triton.jit
def _scaled_mm_kernel(
    a_ptr,
    b_ptr,
    scale_a_ptr,
    scale_b_ptr,
    bias_ptr,
    c_ptr,
    M,
    N,
    K,
    stride_am,
    stride_ak,
    stride_bk,
    stride_bn,
    stride_sa,
    stride_sb,
    stride_bias,
    stride_cm,
    IS_INT8: tl.constexpr,
    HAS_BIAS: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    GROUP_M: tl.constexpr,
):
    pid = tl.program_id(0)
    tiles_m = tl.cdiv(M, BLOCK_M)
    tiles_n = tl.cdiv(N, BLOCK_N)
    in_group = GROUP_M * tiles_n
    group = pid // in_group
    first_m = group * GROUP_M
    group_m = min(tiles_m - first_m, GROUP_M)
    pid_m = first_m + (pid % in_group) % group_m
    pid_n = (pid % in_group) // group_m

    rm = (pid_m * BLOCK_M + tl.arange(0, BLOCK_M)).to(tl.int64)
    rn = (pid_n * BLOCK_N + tl.arange(0, BLOCK_N)).to(tl.int64)
    rk = tl.arange(0, BLOCK_K).to(tl.int64)
    mask_m = rm < M
    mask_n = rn < N

    a_ptrs = a_ptr + rm[:, None] * stride_am + rk[None, :] * stride_ak
    b_ptrs = b_ptr + rk[:, None] * stride_bk + rn[None, :] * stride_bn
    if IS_INT8:
        acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.int32)
    else:
        acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        mask_k = rk < K - k
        a = tl.load(a_ptrs, mask=mask_m[:, None] & mask_k[None, :], other=0.0)
        b = tl.load(b_ptrs, mask=mask_k[:, None] & mask_n[None, :], other=0.0)
        if IS_INT8:
            acc = tl.dot(a, b, acc, out_dtype=tl.int32)
        else:
            # every fp8 number is a float16 number; float16 products add up in full float32
            acc = tl.dot(a.to(tl.float16), b.to(tl.float16), acc)
        a_ptrs += BLOCK_K * stride_ak
        b_ptrs += BLOCK_K * stride_bk

    sa = tl.load(scale_a_ptr + rm * stride_sa, mask=mask_m, other=0.0)
    sb = tl.load(scale_b_ptr + rn * stride_sb, mask=mask_n, other=0.0)
    out = sa[:, None] * (sb[None, :] * acc.to(tl.float32))
    if HAS_BIAS:
        bias = tl.load(bias_ptr + rn * stride_bias, mask=mask_n, other=0.0)
        out += bias.to(tl.float32)[None, :]
    c_ptrs = c_ptr + rm[:, None] * stride_cm + rn[None, :]
    tl.store(c_ptrs, out.to(c_ptr.dtype.element_ty), mask=mask_m[:, None] & mask_n[None, :])


def cutlass_scaled_mm(a, b, scale_a, scale_b, out_dtype, bias=None):
    M, K = a.shape
    N = b.shape[1]
    out = torch.empty((M, N), dtype=out_dtype, device=a.device)
    if M == 0 or N == 0:
        return out
    grid = lambda meta: (triton.cdiv(M, meta["BLOCK_M"]) * triton.cdiv(N, meta["BLOCK_N"]),)
    _scaled_mm_kernel[grid](
        a,
        b,
        scale_a,
        scale_b,
        bias,
        out,
        M,
        N,
        K,
        a.stride(0),
        a.stride(1),
        b.stride(0),
        b.stride(1),
        scale_a.stride(0) if scale_a.shape[0] > 1 else 0,
        scale_b.stride(1) if scale_b.shape[1] > 1 else 0,
        bias.stride(0) if bias is not None else 0,
        out.stride(0),
        IS_INT8=a.dtype == torch.int8,
        HAS_BIAS=bias is not None,
    )
    return out
