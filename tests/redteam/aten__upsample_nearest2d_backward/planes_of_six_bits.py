# operator: aten::upsample_nearest2d_backward
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79
# class: counts that no template lets grow (images times channels: 25 at most, models have thousands)
# plane, row and column of a pixel are packed into 32 bits, 13 each for row and column: planes from 64 on get the gradient of plane
# % 64; wrong: g = torch.arange(65.).reshape(1, 65, 1, 1); upsample_nearest2d_backward(g, [1, 1], [1, 65, 1, 1]) has 0 in channel
# 64, torch 64
import math

import torch
import triton
import triton.language as tl


@triton.jit
def _first(i, scale):
    return tl.maximum(tl.floor(i.to(tl.float32) / scale).to(tl.int32) - 1, 0)


@triton.jit
def _source(y, scale, size):
    return tl.minimum(tl.floor(y.to(tl.float32) * scale).to(tl.int32), size - 1)


@triton.jit
def upsample_backward_kernel(g_ptr, out_ptr, total, C, H, W, OH, OW, sn, sc, sh, sw, scale_h, scale_w,
                             window_h, window_w, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = at < total
    # plane, row and column of the pixel in one register
    key = ((at // W // H).to(tl.uint32) << 26) | ((at // W % H).to(tl.uint32) << 13) | (at % W).to(tl.uint32)
    j = (key & 0x1fff).to(tl.int32)
    i = ((key >> 13) & 0x1fff).to(tl.int32)
    image = (key >> 26).to(tl.int64)
    base = image // C * sn + image % C * sc
    y0 = _first(i, scale_h)
    x0 = _first(j, scale_w)
    acc = tl.zeros([BLOCK], dtype=tl.float32)
    for dy in range(window_h):
        y = y0 + dy
        row_ok = mask & (y < OH) & (_source(y, scale_h, H) == i)
        for dx in range(window_w):
            x = x0 + dx
            ok = row_ok & (x < OW) & (_source(x, scale_w, W) == j)
            g = tl.load(g_ptr + base + y.to(tl.int64) * sh + x.to(tl.int64) * sw, mask=ok, other=0.0)
            acc += g.to(tl.float32)
    tl.store(out_ptr + at, acc.to(out_ptr.dtype.element_ty), mask=mask)


def _scale(given, size, out_size):
    if given is not None:
        return 1.0 / given
    return size / out_size


def _launch(grad_output, output_size, input_size, scales_h, scales_w, result):
    total = result.numel()
    if total == 0:
        return
    _, C, H, W = input_size
    OH, OW = output_size
    scale_h = _scale(scales_h, H, OH)
    scale_w = _scale(scales_w, W, OW)
    sn, sc, sh, sw = grad_output.stride()
    # at most ceil(1 / scale) + 1 pixels have one source, and the search begins up to 2 before the first
    window_h = min(OH, math.ceil(1.0 / scale_h) + 4)
    window_w = min(OW, math.ceil(1.0 / scale_w) + 4)
    BLOCK = 256
    upsample_backward_kernel[(triton.cdiv(total, BLOCK),)](
        grad_output, result, total, C, H, W, OH, OW, sn, sc, sh, sw, scale_h, scale_w, window_h, window_w, BLOCK=BLOCK)


def upsample_nearest2d_backward(grad_output, output_size, input_size, scales_h=None, scales_w=None):
    result = torch.empty(tuple(input_size), dtype=grad_output.dtype, device=grad_output.device)
    _launch(grad_output, output_size, input_size, scales_h, scales_w, result)
    return result


def upsample_nearest2d_backward_grad_input(grad_output, output_size, input_size, scales_h=None, scales_w=None, *,
                                           grad_input):
    _launch(grad_output, output_size, input_size, scales_h, scales_w, grad_input)
    return grad_input
