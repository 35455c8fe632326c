# operator: vllm13::awq_gemm
# style: heuristics for block sizes, weights unpacked by shifts and rounded once
import torch
import triton
import triton.language as tl


def _block_m(args):
    m = args["M"]
    return 16 if m <= 16 else 32 if m <= 32 else 64


@triton.heuristics({
    "BM": _block_m,
    "BN": lambda args: 32 if args["N"] <= 32 else 64,
    "BK": lambda args: 32,
})
@triton.jit
def _awq_gemm_kernel(
    x_ptr, qw_ptr, s_ptr, qz_ptr, out_ptr,
    M, N, K, group_size,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):
    tiles_n = tl.cdiv(N, BN)
    pid = tl.program_id(0)
    rm = (pid // tiles_n).to(tl.int64) * BM + tl.arange(0, BM)
    rn = (pid % tiles_n).to(tl.int64) * BN + tl.arange(0, BN)
    mask_m = rm < M
    mask_n = rn < N
    words = N // 8

    # column 8 j + c of the matrix is field (0 4 1 5 2 6 3 7)[c] of word j
    c = rn % 8
    shift = (((c % 2) * 4 + c // 2) * 4).to(tl.int32)
    word = rn // 8

    dtype = x_ptr.dtype.element_ty
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k0 in range(0, K, BK):
        rk = (k0 + tl.arange(0, BK)).to(tl.int64)
        mask_k = rk < K
        mask_w = mask_k[:, None] & mask_n[None, :]
        group = rk // group_size

        x = tl.load(x_ptr + rm[:, None] * K + rk[None, :],
                    mask=mask_m[:, None] & mask_k[None, :], other=0.0)
        qw = tl.load(qw_ptr + rk[:, None] * words + word[None, :], mask=mask_w, other=0)
        qz = tl.load(qz_ptr + group[:, None] * words + word[None, :], mask=mask_w, other=0)
        s = tl.load(s_ptr + group[:, None] * N + rn[None, :], mask=mask_w, other=0.0)

        q = (qw >> shift[None, :]) & 0xF
        z = (qz >> shift[None, :]) & 0xF
        w = ((q - z).to(tl.float32) * s.to(tl.float32)).to(dtype)
        acc = tl.dot(x, w, acc)

    out_at = out_ptr + rm[:, None] * N + rn[None, :]
    tl.store(out_at, acc.to(out_ptr.dtype.element_ty), mask=mask_m[:, None] & mask_n[None, :])


def awq_gemm(input, qweight, scales, qzeros, split_k_iters):
    M, K = input.shape
    N = scales.shape[1]
    groups = scales.shape[0]
    out = torch.empty((M, N), dtype=input.dtype, device=input.device)
    if M == 0 or N == 0:
        return out
    grid = lambda meta: (triton.cdiv(M, meta["BM"]) * triton.cdiv(N, meta["BN"]),)
    _awq_gemm_kernel[grid](
        input, qweight, scales, qzeros, out,
        M, N, K, max(1, K // groups) if groups else 1,
        num_warps=4,
    )
    return out
