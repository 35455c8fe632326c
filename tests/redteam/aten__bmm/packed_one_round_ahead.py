# operator: aten::bmm
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 81
# open: loads that num_stages of a launch does early
# each round stores the next tile of the right matrix in scratch memory, the next round loads it for its product; a launch with
# num_stages=3 loads it on a GPU two rounds early, before it is stored; wrong: bmm of 2 x 64 x 256 and 2 x 256 x 64 in float16
# on a GPU
import torch
import triton
import triton.language as tl


@triton.jit
def bmm_kernel(a_ptr, b_ptr, w_ptr, c_ptr, M, N, K, sab, sam, sak, sbb, sbk, sbn, scb, scm, scn, TILES,
               BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    batch = tl.program_id(2).to(tl.int64)
    m = tl.program_id(1) * BM + tl.arange(0, BM)
    n = tl.program_id(0) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    own = (batch * tl.num_programs(1) + tl.program_id(1)) * tl.num_programs(0) + tl.program_id(0)
    w = w_ptr + own * TILES * BK * BN + k[:, None] * BN + tl.arange(0, BN)[None, :]
    a = a_ptr + batch * sab + m[:, None] * sam + k[None, :] * sak
    b = b_ptr + batch * sbb + k[:, None] * sbk + n[None, :] * sbn
    tl.store(w, tl.load(b, mask=(k[:, None] < K) & (n[None, :] < N), other=0.0))
    tl.debug_barrier()
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, K, BK):
        right = tl.load(w)
        left = tl.load(a, mask=(m[:, None] < M) & (k[None, :] < K - start), other=0.0)
        b += BK * sbk
        w += BK * BN
        ahead = tl.load(b, mask=(k[:, None] < K - start - BK) & (n[None, :] < N), other=0.0)
        tl.store(w, ahead)
        acc = tl.dot(left, right, acc, input_precision="ieee")
        a += BK * sak
    c = c_ptr + batch * scb + m[:, None] * scm + n[None, :] * scn
    tl.store(c, acc.to(c_ptr.dtype.element_ty), mask=(m[:, None] < M) & (n[None, :] < N))


def _product(a, b, c):
    batch, M, K = a.shape
    N = b.shape[2]
    if c.numel() > 0:
        grid = (triton.cdiv(N, 32), triton.cdiv(M, 32), batch)
        tiles = triton.cdiv(K, 32) + 1
        scratch = torch.empty(grid[0] * grid[1] * batch * tiles * 32 * 32, dtype=b.dtype, device=a.device)
        bmm_kernel[grid](a, b, scratch, c, M, N, K, *a.stride(), *b.stride(), *c.stride(), tiles, BM=32, BN=32, BK=32,
                         num_stages=3)
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
