# operator: aten::im2col
# style: 2-D tiles (window element by position) on a one-dimensional grid, geometry in a NamedTuple
from typing import NamedTuple

import torch
import triton
import triton.language as tl


class Geometry(NamedTuple):
    kh: int
    kw: int
    dh: int
    dw: int
    ph: int
    pw: int
    sh: int
    sw: int
    oh: int
    ow: int


@triton.jit
def unfold_kernel(
    src, dst,
    height, width, n_stride, c_stride, h_stride, w_stride,
    kh, kw, dh, dw, ph, pw, sh, sw, ow,
    rows, cols, row_tiles, col_tiles,
    ROWS: tl.constexpr, COLS: tl.constexpr,
):
    pid = tl.program_id(0).to(tl.int64)
    col_tile = pid % col_tiles
    row_tile = (pid // col_tiles) % row_tiles
    image = pid // col_tiles // row_tiles

    row = row_tile * ROWS + tl.arange(0, ROWS)
    col = col_tile * COLS + tl.arange(0, COLS)
    j = row % kw
    i = row // kw % kh
    c = row // kw // kh
    y = (col // ow)[None, :] * sh + (i * dh)[:, None] - ph
    x = (col % ow)[None, :] * sw + (j * dw)[:, None] - pw

    wanted = (row < rows)[:, None] & (col < cols)[None, :]
    covered = wanted & (y >= 0) & (y < height) & (x >= 0) & (x < width)
    pixel = tl.load(
        src + image * n_stride + (c * c_stride)[:, None] + y * h_stride + x * w_stride,
        mask=covered,
        other=0.0,
    )
    tl.store(dst + image * rows * cols + (row * cols)[:, None] + col[None, :], pixel, mask=wanted)


def _geometry(height, width, kernel_size, dilation, padding, stride):
    kh, kw = kernel_size
    dh, dw = dilation
    ph, pw = padding
    sh, sw = stride
    oh = (height + 2 * ph - dh * (kh - 1) - 1) // sh + 1
    ow = (width + 2 * pw - dw * (kw - 1) - 1) // sw + 1
    return Geometry(kh, kw, dh, dw, ph, pw, sh, sw, oh, ow)


def _result_shape(self, g):
    channels = self.shape[-3]
    matrix = (channels * g.kh * g.kw, g.oh * g.ow)
    return matrix if self.dim() == 3 else (self.shape[0],) + matrix


def _unfold(self, g, out):
    if out.numel() == 0:
        return out
    batch = self if self.dim() == 4 else self.unsqueeze(0)
    images, channels, height, width = batch.shape
    rows = channels * g.kh * g.kw
    cols = g.oh * g.ow
    block_cols = min(128, triton.next_power_of_2(cols))
    block_rows = min(2048 // block_cols, triton.next_power_of_2(rows))
    row_tiles = triton.cdiv(rows, block_rows)
    col_tiles = triton.cdiv(cols, block_cols)
    unfold_kernel[(row_tiles * col_tiles * images,)](
        batch, out,
        height, width, *batch.stride(),
        g.kh, g.kw, g.dh, g.dw, g.ph, g.pw, g.sh, g.sw, g.ow,
        rows, cols, row_tiles, col_tiles,
        ROWS=block_rows, COLS=block_cols,
    )
    return out


def im2col(self, kernel_size, dilation, padding, stride):
    g = _geometry(self.shape[-2], self.shape[-1], kernel_size, dilation, padding, stride)
    return _unfold(self, g, torch.empty(_result_shape(self, g), dtype=self.dtype, device=self.device))


def im2col_out(self, kernel_size, dilation, padding, stride, *, out):
    g = _geometry(self.shape[-2], self.shape[-1], kernel_size, dilation, padding, stride)
    return _unfold(self, g, out)
