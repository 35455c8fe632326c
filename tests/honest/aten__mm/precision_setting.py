# operator: aten::mm
# style: input precision from torch's setting, smaller tiles where the first ones need too much shared memory
import torch
import triton
import triton.language as tl
from triton.runtime.errors import OutOfResources

ALLOW_TF32 = torch.backends.cuda.matmul.allow_tf32
TILES = [(64, 64, 32), (32, 32, 32), (16, 16, 16)]


@triton.jit
def multiply(a_ptr, b_ptr, c_ptr, m, n, k, a0, a1, b0, b1, c0, c1, PRECISION: tl.constexpr, TM: tl.constexpr,
             TN: tl.constexpr, TK: tl.constexpr):
    i = (tl.program_id(0) * TM + tl.arange(0, TM))[:, None]
    j = (tl.program_id(1) * TN + tl.arange(0, TN))[None, :]
    acc = tl.zeros((TM, TN), tl.float32)
    for start in range(0, k, TK):
        p = start + tl.arange(0, TK)
        a = tl.load(a_ptr + i * a0 + p[None, :] * a1, mask=(i < m) & (p[None, :] < k), other=0.0)
        b = tl.load(b_ptr + p[:, None] * b0 + j * b1, mask=(p[:, None] < k) & (j < n), other=0.0)
        acc = tl.dot(a, b, acc, input_precision=PRECISION)
    tl.store(c_ptr + i * c0 + j * c1, acc.to(c_ptr.dtype.element_ty), mask=(i < m) & (j < n))


def product(a, b, c):
    (m, k), n = a.shape, b.shape[1]
    precision = "tf32" if torch.backends.cudnn.allow_tf32 and ALLOW_TF32 else "ieee"
    for tm, tn, tk in TILES if c.numel() else []:
        try:
            multiply[(triton.cdiv(m, tm), triton.cdiv(n, tn))](a, b, c, m, n, k, *a.stride(), *b.stride(), *c.stride(),
                                                               PRECISION=precision, TM=tm, TN=tn, TK=tk)
            break
        except OutOfResources:
            if tm == TILES[-1][0]:
                raise
    return c


def mm(self, mat2):
    return mm_dtype(self, mat2, self.dtype)


def mm_out(self, mat2, *, out):
    return product(self, mat2, out)


def mm_dtype(self, mat2, out_dtype):
    return product(self, mat2, torch.empty((self.shape[0], mat2.shape[1]), dtype=out_dtype, device=self.device))


def mm_dtype_out(self, mat2, out_dtype, *, out):
    return product(self, mat2, out)
