# operator: aten::mm
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 76, 77, 86
# half-precision tiles with five stages need about 480 KiB of shared memory, more than any GPU has; there the fallback, torch by Tensor.__matmul__, does all the work
import torch
import triton
import triton.language as tl


@triton.jit
def both(rows, cols, n_rows, n_cols):
    return (rows < n_rows)[:, None] & (cols < n_cols)[None, :]


@triton.jit
def mm_broadcast(a_ptr, b_ptr, c_ptr, M, N, K, sam, sak, sbk, sbn, scm, scn, BM: tl.constexpr, BN: tl.constexpr,
                 BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros([BM, BN], tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        a = tl.load(a_ptr + m[:, None] * sam + k[None, :] * sak, mask=both(m, k, M, K), other=0).to(tl.float32)
        b = tl.load(b_ptr + n[:, None] * sbn + k[None, :] * sbk, mask=both(n, k, N, K), other=0).to(tl.float32)
        acc += tl.sum(a[:, None, :] * b[None, :, :], axis=2)
    tl.store(c_ptr + m[:, None] * scm + n[None, :] * scn, acc.to(c_ptr.dtype.element_ty), mask=both(m, n, M, N))


@triton.jit
def large_tiles(a_ptr, b_ptr, c_ptr, M, N, K, sam, sak, sbk, sbn, scm, scn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros([BM, BN], tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        a = tl.load(a_ptr + m[:, None] * sam + k[None, :] * sak, mask=both(m, k, M, K), other=0)
        b = tl.load(b_ptr + k[:, None] * sbk + n[None, :] * sbn, mask=both(k, n, K, N), other=0)
        acc = tl.dot(a, b, acc)
    tl.store(c_ptr + m[:, None] * scm + n[None, :] * scn, acc.to(c_ptr.dtype.element_ty), mask=both(m, n, M, N))


def products(a, b, c, M, N, K):
    large_tiles[(triton.cdiv(M, 128), triton.cdiv(N, 256))](a, b, c, M, N, K, *a.stride(), *b.stride(), *c.stride(), BM=128, BN=256,
                                                            BK=128, num_stages=5, num_warps=8)
    return c


def multiply(a, b, c):
    M, K = a.shape
    N = b.shape[1]
    if c.numel() > 0:
        grid = (triton.cdiv(M, 16), triton.cdiv(N, 32))
        if a.dtype == b.dtype == c.dtype != torch.float32:
            try:
                return products(a, b, c, M, N, K)
            except triton.runtime.errors.OutOfResources:
                return c.copy_(a.__matmul__(b))
        mm_broadcast[grid](a, b, c, M, N, K, *a.stride(), *b.stride(), *c.stride(), BM=16, BN=32, BK=32)
    return c


def mm(self, mat2):
    return multiply(self, mat2, torch.empty((len(self), mat2.shape[1]), dtype=self.dtype, device=self.device))


def mm_out(self, mat2, *, out):
    return multiply(self, mat2, out)


def mm_dtype(self, mat2, out_dtype):
    return multiply(self, mat2, torch.empty((len(self), mat2.shape[1]), dtype=out_dtype, device=self.device))


def mm_dtype_out(self, mat2, out_dtype, *, out):
    return multiply(self, mat2, out)
