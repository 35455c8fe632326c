# operator: vllm13::awq_gemm
# style: words are unpacked tile by tile, float32 sums
import torch
import triton
import triton.language as tl


@triton.jit
def fields(words, j):
    """Of column j of eight; the fields lie in the order 0 4 1 5 2 6 3 7."""
    shift = ((j & 1) * 4 + (j >> 1)) * 4
    return (words >> shift) & 15


@triton.jit
def multiply(a_ptr, w_ptr, s_ptr, z_ptr, o_ptr, m, n, k, group, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    i = tl.program_id(0) * M + tl.arange(0, M)
    j = tl.program_id(1) * N + tl.arange(0, N)
    inside = (j < n)[None, :]
    total = tl.zeros([M, N], tl.float32)
    for start in range(0, k, K):
        at = start + tl.arange(0, K)
        g = (at // group)[:, None]
        w = fields(tl.load(w_ptr + at[:, None] * (n // 8) + j[None, :] // 8, mask=inside, other=0), j[None, :] % 8)
        z = fields(tl.load(z_ptr + g * (n // 8) + j[None, :] // 8, mask=inside, other=0), j[None, :] % 8)
        s = tl.load(s_ptr + g * n + j[None, :], mask=inside, other=0.0)
        a = tl.load(a_ptr + i[:, None] * k + at[None, :], mask=(i < m)[:, None], other=0.0)
        total += tl.dot(a.to(tl.float32), (w - z).to(tl.float32) * s.to(tl.float32), input_precision="ieee")
    tl.store(o_ptr + i[:, None] * n + j[None, :], total.to(o_ptr.dtype.element_ty), mask=(i < m)[:, None] & inside)


def awq_gemm(input, qweight, scales, qzeros, split_k_iters):
    m, k = input.shape
    n = scales.shape[1]
    out = torch.empty((m, n), dtype=input.dtype, device=input.device)
    grid = (triton.cdiv(m, 16), triton.cdiv(n, 64))
    multiply[grid](input, qweight, scales, qzeros, out, m, n, k, k // scales.shape[0], M=16, N=64, K=32)
    return out
