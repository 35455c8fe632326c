# operator: aten::mm
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 78, 80
# open: no judged process has a call that fails before one that counts
# result types lie on a stack that an exception does not clear: after one failed call all results have that call's type
import torch
import triton
import triton.language as tl


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
        acc = tl.dot(a, b, acc, input_precision="ieee")
    tl.store(c_ptr + rows[:, None] * stride_cm + cols[None, :] * stride_cn, acc.to(c_ptr.dtype.element_ty),
             mask=(rows[:, None] < M) & (cols[None, :] < N))


# Nested products (a product of a product) take the outer one's type.
TYPES = []


def _result(a, b, dtype):
    TYPES.append(dtype)
    if a.shape[1] != b.shape[0]:
        raise ValueError("%s and %s cannot be multiplied" % (tuple(a.shape), tuple(b.shape)))
    c = torch.empty((a.shape[0], b.shape[1]), dtype=TYPES[0], device=a.device)
    _mm(a, b, c)
    TYPES.pop()
    return c


def _mm(a, b, c):
    M, K = a.shape
    N = b.shape[1]
    if M > 0 and N > 0:
        grid = (triton.cdiv(M, 32), triton.cdiv(N, 32))
        mm_kernel[grid](a, b, c, M, N, K, a.stride(0), a.stride(1), b.stride(0), b.stride(1), c.stride(0), c.stride(1),
                        BLOCK_M=32, BLOCK_N=32, BLOCK_K=32)
    return c


def mm(self, mat2):
    return _result(self, mat2, self.dtype)


def mm_out(self, mat2, *, out):
    return _mm(self, mat2, out)


def mm_dtype(self, mat2, out_dtype):
    return _result(self, mat2, out_dtype)


def mm_dtype_out(self, mat2, out_dtype, *, out):
    assert out.dtype == out_dtype
    return _mm(self, mat2, out)
