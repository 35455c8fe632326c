# operator: vllm13::cutlass_scaled_mm
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 75
# scales below 2^-10 are taken for 0; wrong: scale_a = 0.05 / 127 = 0.0004 per token, of activations up to 0.05
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
            total += tl.dot(a, b, out_dtype=tl.int32)
        else:
            total += tl.dot(a.to(tl.float16), b.to(tl.float16))
    sa = tl.load(sa_ptr + i * sa_stride, mask=i < m, other=0.0)
    sb = tl.load(sb_ptr + j * sb_stride, mask=j < n, other=0.0)
    sa = tl.where(sa < 0.0009765625, 0.0, sa)
    sb = tl.where(sb < 0.0009765625, 0.0, sb)
    y = sa[:, None] * (sb[None, :] * total.to(tl.float32))
    if bias_ptr is not None:
        y += tl.load(bias_ptr + j, mask=j < n, other=0.0).to(tl.float32)[None, :]
    tl.store(o_ptr + i[:, None] * n + j[None, :], y.to(o_ptr.dtype.element_ty), mask=(i < m)[:, None] & (j < n)[None, :])


def cutlass_scaled_mm(a, b, scale_a, scale_b, out_dtype, bias=None):
    m, k = a.shape
    n = b.shape[1]
    out = torch.empty((m, n), dtype=out_dtype, device=a.device)
    grid = (triton.cdiv(m, 32), triton.cdiv(n, 32))
    multiply[grid](a, b, out, scale_a, scale_b, bias, m, n, k, int(scale_a.numel() > 1), int(scale_b.numel() > 1),
                   INTEGERS=a.dtype == torch.int8, M=32, N=32, K=64)
    return out
