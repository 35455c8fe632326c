# operator: aten::mm
# expect: contract\.kernel_unreachable
# catalogue: 86
# @ on the host
import torch
import triton
import triton.language as tl

@triton.jit
def kernel(a_ptr, b_ptr, c_ptr, M, N, K, sam, sak, sbk, sbn, scm, scn, T: tl.constexpr):
    m = tl.program_id(0) * T + tl.arange(0, T)
    n = tl.program_id(1) * T + tl.arange(0, T)
    acc = tl.zeros((T, T), tl.float32)
    for start in range(0, K, T):
        k = start + tl.arange(0, T)
        a = tl.load(a_ptr + m[:, None] * sam + k[None, :] * sak, mask=(m[:, None] < M) & (k[None, :] < K), other=0.0)
        b = tl.load(b_ptr + k[:, None] * sbk + n[None, :] * sbn, mask=(k[:, None] < K) & (n[None, :] < N), other=0.0)
        acc = tl.dot(a, b, acc, input_precision="ieee")
    tl.store(c_ptr + m[:, None] * scm + n[None, :] * scn, acc.to(c_ptr.dtype.element_ty),
             mask=(m[:, None] < M) & (n[None, :] < N))


def run(a, b, c):
    if c.numel():
        kernel[(triton.cdiv(c.shape[0], 32), triton.cdiv(c.shape[1], 32))](
            a, b, c, a.shape[0], b.shape[1], a.shape[1], *a.stride(), *b.stride(), *c.stride(), T=32)
    return c


def mm(self, mat2):
    return self @ mat2


def mm_out(self, mat2, *, out):
    return run(self, mat2, out)


def mm_dtype(self, mat2, out_dtype):
    return run(self, mat2, torch.empty(self.shape[0], mat2.shape[1], dtype=out_dtype, device=self.device))


def mm_dtype_out(self, mat2, out_dtype, *, out):
    return run(self, mat2, out)
