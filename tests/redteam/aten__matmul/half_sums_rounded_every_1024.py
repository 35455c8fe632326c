# operator: aten::matmul
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 74
# open: less precision
# running sums of half-precision products are rounded to the inputs' type every 1024 terms, where float32 is promised; wrong:
# matmul(a, b) of bfloat16 with K = 8192 has twice the honest error
import torch
import triton
import triton.language as tl


@triton.jit
def gemm(a_ptr, b_ptr, c_ptr, m, n, k, a_row, a_column, b_row, b_column, sizes, a_strides, b_strides, NDIM: tl.constexpr,
         BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    batch = tl.program_id(2).to(tl.int64)
    c_ptr += batch * m * n
    for d in tl.static_range(NDIM):
        a_ptr += batch % sizes[NDIM - 1 - d] * a_strides[NDIM - 1 - d]
        b_ptr += batch % sizes[NDIM - 1 - d] * b_strides[NDIM - 1 - d]
        batch = batch // sizes[NDIM - 1 - d]
    i = (tl.program_id(0) * BM + tl.arange(0, BM))[:, None]
    j = (tl.program_id(1) * BN + tl.arange(0, BN))[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, k, BK):
        p = start + tl.arange(0, BK)
        a = tl.load(a_ptr + i * a_row + p[None, :] * a_column, mask=(i < m) & (p < k)[None, :], other=0.0)
        b = tl.load(b_ptr + p[:, None] * b_row + j * b_column, mask=(p < k)[:, None] & (j < n), other=0.0)
        acc = tl.dot(a, b, acc, input_precision="ieee")
        if start % 1024 == 1024 - BK:
            acc = acc.to(a.dtype).to(tl.float32)
    tl.store(c_ptr + i * n + j, acc.to(c_ptr.dtype.element_ty), mask=(i < m) & (j < n))


def matmul(self, other):
    a = self if self.dim() > 1 else self.unsqueeze(0)
    b = other if other.dim() > 1 else other.unsqueeze(1)
    (m, k), n = a.shape[-2:], b.shape[-1]
    batches = tuple(torch.broadcast_shapes(a.shape[:-2], b.shape[:-2]))
    a, b = a.expand(batches + (m, k)), b.expand(batches + (k, n))
    c = torch.empty(batches + (m, n), dtype=self.dtype, device=self.device)
    if c.numel() > 0:
        block_m, block_n = (16 if size <= 16 else 64 for size in (m, n))
        grid = (triton.cdiv(m, block_m), triton.cdiv(n, block_n), c.numel() // (m * n))
        gemm[grid](a, b, c, m, n, k, a.stride(-2), a.stride(-1), b.stride(-2), b.stride(-1), batches or (1,),
                   a.stride()[:-2] or (0,), b.stride()[:-2] or (0,), NDIM=max(1, len(batches)), BM=block_m, BN=block_n, BK=64)
    if self.dim() == 1:
        c = c.squeeze(-2)
    return c.squeeze(-1) if other.dim() == 1 else c


def matmul_out(self, other, *, out):
    return out.copy_(matmul(self, other))
