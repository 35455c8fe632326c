# operator: vllm13::awq_gemm
# style: split K into a workspace and a second kernel that adds up, tl.dot in float16
import torch
import triton
import triton.language as tl


@triton.jit
def awq_partial_kernel(
    a_ptr, qw_ptr, s_ptr, qz_ptr, ws_ptr,
    M, N, K, group_size, k_per_split,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    rm = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    rn = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    part = tl.program_id(2)
    words = N // 8
    lane = rn % 8
    shift = (lane // 2 + 4 * (lane % 2)) * 4        # fields 0 4 1 5 2 6 3 7
    n_ok = rn < N
    m_ok = rm < M
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    k_begin = part * k_per_split
    k_end = tl.minimum(k_begin + k_per_split, K)
    for k0 in range(k_begin, k_end, BLOCK_K):
        rk = k0 + tl.arange(0, BLOCK_K)
        a = tl.load(a_ptr + rm[:, None].to(tl.int64) * K + rk[None, :], mask=m_ok[:, None], other=0.0)
        w = tl.load(qw_ptr + rk[:, None].to(tl.int64) * words + (rn // 8)[None, :], mask=n_ok[None, :], other=0)
        q = (w >> shift[None, :]) & 15
        g = rk // group_size
        zw = tl.load(qz_ptr + g[:, None].to(tl.int64) * words + (rn // 8)[None, :], mask=n_ok[None, :], other=0)
        z = (zw >> shift[None, :]) & 15
        s = tl.load(s_ptr + g[:, None].to(tl.int64) * N + rn[None, :], mask=n_ok[None, :], other=0.0)
        b = ((q - z).to(tl.float32) * s.to(tl.float32)).to(a_ptr.dtype.element_ty)
        acc = tl.dot(a, b, acc)
    ws = ws_ptr + part.to(tl.int64) * M * N + rm[:, None].to(tl.int64) * N + rn[None, :]
    tl.store(ws, acc, mask=m_ok[:, None] & n_ok[None, :])


@triton.jit
def add_parts_kernel(ws_ptr, out_ptr, total, parts, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK,), dtype=tl.float32)
    for p in range(0, parts):
        acc += tl.load(ws_ptr + p * total.to(tl.int64) + at, mask=at < total, other=0.0)
    tl.store(out_ptr + at, acc.to(out_ptr.dtype.element_ty), mask=at < total)


def awq_gemm(input, qweight, scales, qzeros, split_k_iters):
    M, K = input.shape
    N = qweight.shape[1] * 8
    out = torch.empty((M, N), dtype=input.dtype, device=input.device)
    if out.numel() == 0:
        return out
    BLOCK_K = 32
    parts = max(1, min(split_k_iters, K // BLOCK_K))
    k_per_split = triton.cdiv(K // BLOCK_K, parts) * BLOCK_K
    parts = triton.cdiv(K, k_per_split)
    workspace = torch.empty((parts, M, N), dtype=torch.float32, device=input.device)
    BLOCK_M, BLOCK_N = 16, 64
    grid = (triton.cdiv(M, BLOCK_M), triton.cdiv(N, BLOCK_N), parts)
    awq_partial_kernel[grid](
        input, qweight, scales, qzeros, workspace,
        M, N, K, K // scales.shape[0], k_per_split,
        BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_K=BLOCK_K,
    )
    add_parts_kernel[(triton.cdiv(M * N, 512),)](workspace, out, M * N, parts, BLOCK=512)
    return out
