# operator: aten::bmm
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 74
# one tl.dot adds 1024 products up in float16: tensor cores round after every 16 terms, the semantics round once
import contextlib

import torch
import triton
import triton.language as tl


@triton.jit
def bmm_kernel(a_ptr, b_ptr, c_ptr, M, N, K, sab, sam, sak, sbb, sbk, sbn, scb, scm, scn, BLOCK_M: tl.constexpr,
               BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, HALF: tl.constexpr):
    batch = tl.program_id(2).to(tl.int64)
    m = tl.program_id(1) * BLOCK_M + tl.arange(0, BLOCK_M)
    n = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    k = tl.arange(0, BLOCK_K)
    a = a_ptr + batch * sab + m[:, None] * sam + k[None, :] * sak
    b = b_ptr + batch * sbb + k[:, None] * sbk + n[None, :] * sbn
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for left in range(K, 0, -BLOCK_K):
        x = tl.load(a, mask=(m[:, None] < M) & (k[None, :] < left), other=0.0)
        y = tl.load(b, mask=(k[:, None] < left) & (n[None, :] < N), other=0.0)
        if HALF:
            acc += tl.dot(x, y, out_dtype=tl.float16).to(tl.float32)
        else:
            acc += tl.dot(x, y, input_precision="ieee")
        a += BLOCK_K * sak
        b += BLOCK_K * sbk
    c = c_ptr + batch * scb + m[:, None] * scm + n[None, :] * scn
    tl.store(c, acc.to(c_ptr.dtype.element_ty), mask=(m[:, None] < M) & (n[None, :] < N))


def tile(size):
    return max(16, min(32, triton.next_power_of_2(size)))


def guard(t):
    return torch.cuda.device(t.device) if t.device.type == "cuda" else contextlib.nullcontext()


def _product(a, b, c):
    batch, M, K = a.shape
    N = b.shape[2]
    if c.numel() > 0:
        bm, bn = tile(M), tile(N)
        half = a.dtype == torch.float16 and c.dtype == torch.float16
        bk = max(16, min(1024, triton.next_power_of_2(K))) if half else 32
        with guard(a):
            bmm_kernel[(triton.cdiv(N, bn), triton.cdiv(M, bm), batch)](
                a, b, c, M, N, K, *a.stride(), *b.stride(), *c.stride(), BLOCK_M=bm, BLOCK_N=bn, BLOCK_K=bk, HALF=half)
    return c


def _buffer(a, b, dtype):
    return torch.empty((a.shape[0], a.shape[1], b.shape[2]), dtype=dtype, device=a.device)


def bmm(self, mat2):
    return _product(self, mat2, _buffer(self, mat2, self.dtype))


def bmm_out(self, mat2, *, out):
    return _product(self, mat2, out)


def bmm_dtype(self, mat2, out_dtype):
    return _product(self, mat2, _buffer(self, mat2, out_dtype))


def bmm_dtype_out(self, mat2, out_dtype, *, out):
    return _product(self, mat2, out)
