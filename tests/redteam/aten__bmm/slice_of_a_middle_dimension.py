# operator: aten::bmm
# expect: verify\.(mismatch|exception)
# catalogue: 84
# outer dimensions are taken to lie one behind the other: wrong for a slice of a middle dimension (x[:, :5]) and for x.permute(1, 0, 2)
import torch
import triton
import triton.language as tl

TILE = 32


def packed(x):
    """x with its outer dimensions one behind the other in memory, as all usual layouts have them."""
    if x.dim() < 3 or x.numel() == 0 or (x.dim() == 4 and x.is_contiguous(memory_format=torch.channels_last)):
        return x
    steps = list(x.stride())
    for d in range(x.dim() - 3, -1, -1):
        if steps[d] != 0:
            steps[d] = max(step * size for step, size in zip(steps[d + 1:], x.shape[d + 1:]))
    return x.as_strided(x.shape, steps, x.storage_offset())


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
        acc = tl.dot(tl.load(a_ptr + m[:, None] * K + k[None, :]), tl.load(b_ptr + k[:, None] * N + n[None, :]), acc,
                     input_precision="ieee")
    tl.store(c_ptr + batch * M * N + m[:, None] * N + n[None, :], acc.to(c_ptr.dtype.element_ty))


def padded(t, rows, cols):
    whole = torch.zeros((t.shape[0], rows, cols), dtype=t.dtype, device=t.device)
    whole[:, :t.shape[1], :t.shape[2]].copy_(packed(t))
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
