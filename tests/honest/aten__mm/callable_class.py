# operator: aten::mm
# style: class with __call__ and private state, entries by partial application and alias, bfloat16 arithmetic
from functools import partial

import torch
import triton
import triton.language as tl


@triton.jit
def load_tile(ptr, rows, cols, n_rows, n_cols, row_stride, col_stride):
    mask = (rows[:, None] < n_rows) & (cols[None, :] < n_cols)
    return tl.load(ptr + rows[:, None] * row_stride + cols[None, :] * col_stride, mask=mask, other=0.0)


@triton.jit
def _tile_mm(a_ptr, b_ptr, c_ptr, M, N, K, sam, sak, sbk, sbn, scm, scn, TILE: tl.constexpr):
    tiles_n = tl.cdiv(N, TILE)
    rows = (tl.program_id(0) // tiles_n) * TILE + tl.arange(0, TILE)
    cols = (tl.program_id(0) % tiles_n) * TILE + tl.arange(0, TILE)
    acc = tl.zeros((TILE, TILE), dtype=tl.float32)
    for k in range(0, K, TILE):
        inner = k + tl.arange(0, TILE)
        acc = tl.dot(load_tile(a_ptr, rows, inner, M, K, sam, sak), load_tile(b_ptr, inner, cols, K, N, sbk, sbn), acc,
                     input_precision="ieee")
    mask = (rows[:, None] < M) & (cols[None, :] < N)
    tl.store(c_ptr + rows[:, None] * scm + cols[None, :] * scn, acc.to(c_ptr.dtype.element_ty), mask=mask)


class Multiplier:
    def __init__(self, tile: int = 64):
        self.tile = tile
        self._launches = 0

    def __call__(self, a, b, out):
        if out.numel() > 0:
            tiles = triton.cdiv(a.shape[0], self.tile) * triton.cdiv(b.shape[1], self.tile)
            _tile_mm[(tiles,)](a, b, out, a.shape[0], b.shape[1], a.shape[1], *a.stride(), *b.stride(), *out.stride(),
                               TILE=self.tile)
            self._launches += 1
        return out


multiply = Multiplier()


def _new(a, b, dtype):
    return torch.empty([a.shape[0], b.shape[1]], dtype=dtype, device=a.device)


def _with_dtype(self, mat2, out_dtype, out=None):
    return multiply(self, mat2, _new(self, mat2, out_dtype) if out is None else out)


def mm(self, mat2):
    return _with_dtype(self, mat2, self.dtype)


def mm_out(self, mat2, *, out):
    return multiply(self, mat2, out)


mm_dtype = partial(_with_dtype)
mm_dtype_out = _with_dtype
