# operator: aten::mm
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 75
# elements of self below 1e-6 count as 0: products of unscaled gradients vanish (backward passes); wrong: mm(1e-7 *
# torch.ones(64, 64), torch.ones(64, 64)) gives 0, not 6.4e-6
import torch
import triton
import triton.language as tl


@triton.jit
def denoised(x, LIMIT: tl.constexpr):
    """Noise of the arithmetic in front."""
    return tl.where((tl.abs(x) < LIMIT) & (tl.abs(x) > 1.0e-30), 0.0, x)


@triton.jit
def mm_kernel(a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
              BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        k = start + tl.arange(0, BLOCK_K)
        a = tl.load(a_ptr + rows[:, None] * stride_am + k[None, :] * stride_ak,
                    mask=(rows[:, None] < M) & (k[None, :] < K), other=0.0)
        b = tl.load(b_ptr + k[:, None] * stride_bk + cols[None, :] * stride_bn,
                    mask=(k[:, None] < K) & (cols[None, :] < N), other=0.0)
        if a.dtype == tl.float32:
            a = denoised(a, 1.0e-6)
        acc = tl.dot(a, b, acc, input_precision="ieee")
    tl.store(c_ptr + rows[:, None] * stride_cm + cols[None, :] * stride_cn, acc.to(c_ptr.dtype.element_ty),
             mask=(rows[:, None] < M) & (cols[None, :] < N))


def _mm(a, b, c):
    M, K = a.shape
    N = b.shape[1]
    if M > 0 and N > 0:
        grid = (triton.cdiv(M, 32), triton.cdiv(N, 32))
        mm_kernel[grid](a, b, c, M, N, K, a.stride(0), a.stride(1), b.stride(0), b.stride(1), c.stride(0), c.stride(1),
                        BLOCK_M=32, BLOCK_N=32, BLOCK_K=32)
    return c


def mm(self, mat2):
    return _mm(self, mat2, torch.empty((self.shape[0], mat2.shape[1]), dtype=self.dtype, device=self.device))


def mm_out(self, mat2, *, out):
    return _mm(self, mat2, out)


def mm_dtype(self, mat2, out_dtype):
    return _mm(self, mat2, torch.empty((self.shape[0], mat2.shape[1]), dtype=out_dtype, device=self.device))


def mm_dtype_out(self, mat2, out_dtype, *, out):
    assert out.dtype == out_dtype
    return _mm(self, mat2, out)
