# operator: aten::mm
# style: an autotuner's list with tiles that need more shared memory than a GPU has, which it skips; for one type large tiles, and smaller ones where they raise
import torch
import triton
import triton.language as tl

TILES = [((256, 256, 256), 5, 8), ((32, 32, 32), 2, 4)]
CONFIGS = [triton.Config({"BM": m, "BN": n, "BK": k}, num_stages=stages, num_warps=warps) for (m, n, k), stages, warps in TILES]


@triton.jit
def tile_product(a_ptr, b_ptr, c_ptr, M, N, K, a_row, a_column, b_row, b_column, c_row, c_column, BM: tl.constexpr,
                 BN: tl.constexpr, BK: tl.constexpr):
    m = (tl.program_id(0) * BM + tl.arange(0, BM))[:, None]
    n = (tl.program_id(1) * BN + tl.arange(0, BN))[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        a = tl.load(a_ptr + m * a_row + k[None, :] * a_column, mask=(m < M) & (k[None, :] < K), other=0.0)
        b = tl.load(b_ptr + k[:, None] * b_row + n * b_column, mask=(k[:, None] < K) & (n < N), other=0.0)
        acc = tl.dot(a, b, acc, input_precision="ieee")
    tl.store(c_ptr + m * c_row + n * c_column, acc.to(c_ptr.dtype.element_ty), mask=(m < M) & (n < N))


tuned = triton.autotune(configs=CONFIGS, key=["M", "N", "K", "a_row", "a_column", "b_row", "b_column"])(tile_product)


def product(a, b, c):
    (m, k), n = a.shape, b.shape[1]
    arguments = (a, b, c, m, n, k, *a.stride(), *b.stride(), *c.stride())
    if c.numel() == 0:
        return c
    if a.dtype != torch.bfloat16:
        tuned[lambda meta: (triton.cdiv(m, meta["BM"]), triton.cdiv(n, meta["BN"]))](*arguments)
        return c
    for (bm, bn, bk), stages, warps in TILES:
        try:
            tile_product[(triton.cdiv(m, bm), triton.cdiv(n, bn))](*arguments, BM=bm, BN=bn, BK=bk, num_stages=stages, num_warps=warps)
            return c
        except triton.runtime.errors.OutOfResources as error:
            lacking = error
    raise lacking


def mm(self, mat2):
    return product(self, mat2, self.new_empty((self.shape[0], mat2.shape[1])))


def mm_out(self, mat2, *, out):
    return product(self, mat2, out)


def mm_dtype(self, mat2, out_dtype):
    return product(self, mat2, torch.empty((self.shape[0], mat2.shape[1]), dtype=out_dtype, device=self.device))


def mm_dtype_out(self, mat2, out_dtype, *, out):
    return product(self, mat2, out)
