# operator: vllm13::cutlass_scaled_mm
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79
# open: what a GPU computes otherwise
# tl.dot of fp8 keeps float32 in the machine; tensor cores of an H100 add fp8 products with some 14 bits
# fp8 goes to tl.dot as it is, with imprecise accumulation for all of K; wrong on an H100 or H200: fp8 matrices of positive
# numbers with K = 8192, float16 result (sums are cut off by about a per cent; the semantics promise float32)
import torch
import triton
import triton.language as tl


@triton.jit
def multiply(a_ptr, b_ptr, o_ptr, sa_ptr, sb_ptr, bias_ptr, m, n, k, sa_stride, sb_stride, INTEGERS: tl.constexpr,
             M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    i = tl.program_id(0) * M + tl.arange(0, M)
    j = tl.program_id(1) * N + tl.arange(0, N)
    kind: tl.constexpr = tl.int32 if INTEGERS else tl.float32
    total = tl.zeros([M, N], kind)
    for start in range(0, k, K):
        at = start + tl.arange(0, K)
        a = tl.load(a_ptr + i[:, None] * k + at[None, :], mask=(i < m)[:, None] & (at < k)[None, :], other=0.0)
        b = tl.load(b_ptr + j[None, :] * k + at[:, None], mask=(j < n)[None, :] & (at < k)[:, None], other=0.0)
        if INTEGERS:
            total = tl.dot(a, b, total, out_dtype=tl.int32)
        else:
            total = tl.dot(a, b, total)
    sa = tl.load(sa_ptr + i * sa_stride, mask=i < m, other=0.0)
    sb = tl.load(sb_ptr + j * sb_stride, mask=j < n, other=0.0)
    y = sa[:, None] * (sb[None, :] * total.to(tl.float32))
    if bias_ptr is not None:
        y += tl.load(bias_ptr + j, mask=j < n, other=0.0).to(tl.float32)[None, :]
    tl.store(o_ptr + i[:, None] * n + j[None, :], y.to(o_ptr.dtype.element_ty), mask=(i < m)[:, None] & (j < n)[None, :])


def cutlass_scaled_mm(a, b, scale_a, scale_b, out_dtype, bias=None):
    m, k = a.shape
    n = b.shape[1]
    out = torch.empty((m, n), dtype=out_dtype, device=a.device)
    grid = (triton.cdiv(m, 64), triton.cdiv(n, 64))
    multiply[grid](a, b, out, scale_a, scale_b, bias, m, n, k, int(scale_a.numel() > 1), int(scale_b.numel() > 1),
                   INTEGERS=a.dtype == torch.int8, M=64, N=64, K=64)
    return out
