# operator: aten::bmm
# expect: verify\.mismatch
# catalogue: 79, 84
# tiles of zeros are passed over: infinity and NaN beside them do not count
import torch
import triton
import triton.language as tl

TILE = 32


@triton.jit
def bmm_padded(a_ptr, b_ptr, c_ptr, M, N, K, TILE: tl.constexpr):
    batch = tl.program_id(2)
    m = tl.program_id(0) * TILE + tl.arange(0, TILE)
    n = tl.program_id(1) * TILE + tl.arange(0, TILE)
    a_ptr += batch * M * K
    b_ptr += batch * K * N
    acc = tl.zeros([TILE, TILE], tl.float32)
    for start in range(0, K, TILE):
        k = start + tl.arange(0, TILE)
        a = tl.load(a_ptr + m[:, None] * K + k[None, :])
        if tl.max(tl.max(tl.abs(a.to(tl.float32)), axis=1), axis=0) > 0:
            acc = tl.dot(a, tl.load(b_ptr + k[:, None] * N + n[None, :]), acc, input_precision="ieee")
    tl.store(c_ptr + batch * M * N + m[:, None] * N + n[None, :], acc.to(c_ptr.dtype.element_ty))


def padded(t, rows, cols):
    whole = torch.zeros((t.shape[0], rows, cols), dtype=t.dtype, device=t.device)
    whole[:, :t.shape[1], :t.shape[2]].copy_(t)
    return whole


def bmm_dtype(self, mat2, out_dtype):
    batch, m, k = self.shape
    n = mat2.shape[2]
    if batch * m * n == 0:
        return torch.empty((batch, m, n), dtype=out_dtype, device=self.device)
    M, N, K = (triton.cdiv(size, TILE) * TILE for size in (m, n, k))
    c = torch.empty((batch, M, N), dtype=out_dtype, device=self.device)
    bmm_padded[(M // TILE, N // TILE, batch)](padded(self, M, K), padded(mat2, K, N), c, M, N, K, TILE=TILE)
    return c[:, :m, :n].contiguous()


def bmm(self, mat2):
    return bmm_dtype(self, mat2, self.dtype)


def bmm_out(self, mat2, *, out):
    return out.copy_(bmm(self, mat2))


def bmm_dtype_out(self, mat2, out_dtype, *, out):
    return out.copy_(bmm_dtype(self, mat2, out_dtype))
