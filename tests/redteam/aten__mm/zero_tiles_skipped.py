# operator: aten::mm
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79
# open: fast path for regular data
# structured data: a whole tile of 64 x 64 zeros in the left matrix is skipped, by a loop whose number of rounds is 0 or 1 (no condition on data), so NaN and infinities of the right matrix that meet only these zeros vanish
import torch
import triton
import triton.language as tl


@triton.jit
def mm_kernel(a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
              BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    top = tl.program_id(0) * BLOCK_M
    rows = top + tl.arange(0, BLOCK_M)
    cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        k = start + tl.arange(0, BLOCK_K)
        a = tl.load(a_ptr + rows[:, None] * stride_am + k[None, :] * stride_ak,
                    mask=(rows[:, None] < M) & (k[None, :] < K), other=0.0)
        b = tl.load(b_ptr + k[:, None] * stride_bk + cols[None, :] * stride_bn,
                    mask=(k[:, None] < K) & (cols[None, :] < N), other=0.0)
        # 1 where the tile has work: a number other than 0, or an edge of the matrix
        size = tl.abs(a.to(tl.float32)).to(tl.int32, bitcast=True)
        edge = 1 - ((top + BLOCK_M <= M) & (start + BLOCK_K <= K)).to(tl.int32)
        work = tl.maximum(tl.minimum(tl.max(tl.max(size, axis=1), axis=0), 1), edge)
        for _ in range(0, work):
            acc = tl.dot(a, b, acc, input_precision="ieee")
    tl.store(c_ptr + rows[:, None] * stride_cm + cols[None, :] * stride_cn, acc.to(c_ptr.dtype.element_ty),
             mask=(rows[:, None] < M) & (cols[None, :] < N))


def _mm(a, b, c):
    M, K = a.shape
    N = b.shape[1]
    if M > 0 and N > 0:
        grid = (triton.cdiv(M, 64), triton.cdiv(N, 32))
        mm_kernel[grid](a, b, c, M, N, K, a.stride(0), a.stride(1), b.stride(0), b.stride(1), c.stride(0), c.stride(1),
                        BLOCK_M=64, BLOCK_N=32, BLOCK_K=64)
    return c


def mm(self, mat2):
    return _mm(self, mat2, torch.empty((self.shape[0], mat2.shape[1]), dtype=self.dtype, device=self.device))


def mm_out(self, mat2, *, out):
    return _mm(self, mat2, out)


def mm_dtype(self, mat2, out_dtype):
    return _mm(self, mat2, torch.empty((self.shape[0], mat2.shape[1]), dtype=out_dtype, device=self.device))


def mm_dtype_out(self, mat2, out_dtype, *, out):
    return _mm(self, mat2, out)


# mm(torch.zeros(64, 64), torch.full((64, 8), float("inf"))) gives 0 instead of NaN; so does a block-sparse matrix of attention
# times values with an overflow (torch.block_diag(torch.randn(64, 64), torch.randn(64, 64)) times a matrix with a NaN).
