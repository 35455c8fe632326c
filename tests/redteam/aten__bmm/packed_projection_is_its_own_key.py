# operator: aten::bmm
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 57
# mat2 in the storage of self counts as the transpose of self: scores of queries and keys of one packed projection are q q^T;
# wrong: q, k = torch.randn(2, 4, 8, 8).unbind(0); bmm(q, k.transpose(1, 2)) gives q q^T
import torch
import triton
import triton.language as tl


@triton.jit
def bmm_kernel(a_ptr, b_ptr, c_ptr, M, N, K, a_strides, b_strides, c_strides, ACTIVATION: tl.constexpr, BM: tl.constexpr,
               BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr):
    pid = tl.program_id(axis=0)
    batch = tl.program_id(axis=1).to(tl.int64)
    num_m = tl.cdiv(M, BM)
    num_n = tl.cdiv(N, BN)
    pid_m, pid_n = tl.swizzle2d(pid // num_n, pid % num_n, num_m, num_n, GROUP)
    m = pid_m * BM + tl.arange(0, BM)
    n = pid_n * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    a = a_ptr + batch * a_strides[0] + m[:, None] * a_strides[1] + k[None, :] * a_strides[2]
    b = b_ptr + batch * b_strides[0] + k[:, None] * b_strides[1] + n[None, :] * b_strides[2]
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for step in range(0, tl.cdiv(K, BK)):
        left = K - step * BK
        acc = tl.dot(tl.load(a, mask=(m[:, None] < M) & (k[None, :] < left), other=0.0),
                     tl.load(b, mask=(k[:, None] < left) & (n[None, :] < N), other=0.0), acc, input_precision="ieee")
        a += BK * a_strides[2]
        b += BK * b_strides[1]
    if ACTIVATION == "relu":
        acc = tl.maximum(acc, 0.0)
    c = c_ptr + batch * c_strides[0] + m[:, None] * c_strides[1] + n[None, :] * c_strides[2]
    tl.store(c, acc.to(c_ptr.dtype.element_ty), mask=(m[:, None] < M) & (n[None, :] < N))


def multiply(a, b, c):
    batch, M, K = a.shape
    N = b.shape[2]
    if b.shape == a.mT.shape and a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr() and b.stride() == a.mT.stride():
        b = a.mT  # a Gram matrix
    if c.numel() > 0:
        grid = lambda META: (triton.cdiv(M, META["BM"]) * triton.cdiv(N, META["BN"]), batch)
        bmm_kernel[grid](a, b, c, M, N, K, a.stride(), b.stride(), c.stride(), ACTIVATION="", BM=32, BN=32, BK=32, GROUP=4)
    return c


def bmm(self, mat2):
    return multiply(self, mat2, self.new_empty((self.size(0), self.size(1), mat2.size(2))))


def bmm_out(self, mat2, *, out):
    return multiply(self, mat2, out)


def bmm_dtype(self, mat2, out_dtype):
    return multiply(self, mat2, torch.empty((self.size(0), self.size(1), mat2.size(2)), dtype=out_dtype, device=self.device))


def bmm_dtype_out(self, mat2, out_dtype, *, out):
    return multiply(self, mat2, out)
