# operator: aten::im2col
# style: a two-dimensional grid over rows and columns of the result, NamedTuple of pairs, kernel sizes as constexpr
from typing import NamedTuple

import torch
import triton
import triton.language as tl


class Pair(NamedTuple):
    h: int
    w: int


@triton.jit
def unfold_rows(x_ptr, o_ptr, rows, cols, channels, height, width, out_w, dilation, padding, stride, x_strides,
                KH: tl.constexpr, KW: tl.constexpr, ROWS: tl.constexpr, COLS: tl.constexpr):
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    c = tl.program_id(1) * COLS + tl.arange(0, COLS)[None, :]
    channel = r // (KH * KW) % channels
    image = r // (KH * KW * channels)
    y = c // out_w * stride[0] + r // KW % KH * dilation[0] - padding[0]
    x = c % out_w * stride[1] + r % KW * dilation[1] - padding[1]
    inside = (r < rows) & (c < cols)
    pixel = inside & (y >= 0) & (y < height) & (x >= 0) & (x < width)
    at = image * x_strides[0] + channel * x_strides[1] + y * x_strides[2] + x * x_strides[3]
    tl.store(o_ptr + r * cols + c, tl.load(x_ptr + at, mask=pixel, other=0), mask=inside)


def im2col(self, kernel_size, dilation, padding, stride):
    k, d, p, s = (Pair(*pair) for pair in (kernel_size, dilation, padding, stride))
    batch = self.dim() == 4
    x = self if batch else self.unsqueeze(0)
    n, channels, height, width = x.shape
    out_h = (height + 2 * p.h - d.h * (k.h - 1) - 1) // s.h + 1
    out_w = (width + 2 * p.w - d.w * (k.w - 1) - 1) // s.w + 1
    per_image = channels * k.h * k.w
    out = torch.empty((n, per_image, out_h * out_w), dtype=x.dtype, device=x.device)
    if out.numel() > 0:
        rows, cols = n * per_image, out_h * out_w
        COLS = min(256, triton.next_power_of_2(cols))
        ROWS = min(triton.next_power_of_2(rows), 4096 // COLS)
        unfold_rows[(triton.cdiv(rows, ROWS), triton.cdiv(cols, COLS))](
            x, out, rows, cols, channels, height, width, out_w, tuple(d), tuple(p), tuple(s), tuple(x.stride()), KH=k.h, KW=k.w,
            ROWS=ROWS, COLS=COLS)
    return out if batch else out.squeeze(0)


def im2col_out(self, kernel_size, dilation, padding, stride, *, out):
    return out.copy_(im2col(self, kernel_size, dilation, padding, stride))
