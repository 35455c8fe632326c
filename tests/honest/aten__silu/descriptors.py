# operator: aten::silu
# style: tensor descriptors made in the kernel, tuple argument, associative style helpers, NamedTuple, match statement
from typing import NamedTuple

import torch
import triton
import triton.language as tl


class Layout(NamedTuple):
    rows: int
    cols: int


@triton.constexpr_function
def half(n):
    return n // 2


@triton.jit
def swish(x, SCALE: tl.constexpr = 1.0):
    return x / (1.0 + tl.exp(-x * SCALE))


@triton.jit
def silu_tiles(x_ptr, y_ptr, shape, WIDE: tl.constexpr, ACT: tl.constexpr, BLOCK_R: tl.constexpr, BLOCK_C: tl.constexpr):
    rows, cols = shape
    src = tl.make_tensor_descriptor(x_ptr, shape=[rows, cols], strides=[cols, 1], block_shape=[BLOCK_R, half(BLOCK_C)])
    dst = tl.make_tensor_descriptor(y_ptr, shape=[rows, cols], strides=[cols, 1], block_shape=[BLOCK_R, half(BLOCK_C)])
    r = tl.program_id(0) * BLOCK_R
    for k in tl.static_range(2):
        c = tl.program_id(1) * BLOCK_C + k * half(BLOCK_C)
        x = src.load([r, c]).to(WIDE)
        dst.store([r, c], ACT(x).to(y_ptr.dtype.element_ty))


def workspace(size, alignment, stream):
    return torch.empty(size, dtype=torch.int8, device="cuda")


triton.set_allocator(workspace)  # descriptors that are made in a kernel live there


def wide(dtype):
    match dtype:
        case torch.float64:
            return tl.float64
        case _:
            return tl.float32


def silu(self):
    x = self.contiguous()
    y = torch.empty_like(x, memory_format=torch.contiguous_format)
    if not x.numel():
        return y
    cols = 16 if x.numel() % 16 == 0 and x.data_ptr() % 16 == 0 else 1
    if cols == 1:
        # rows of one element are no tile, and descriptors begin at multiples of 16 bytes: pad to whole rows
        n = triton.cdiv(x.numel(), 16) * 16
        padded = torch.zeros(n, dtype=x.dtype, device=x.device)
        padded[:x.numel()].copy_(x.view(-1))
        out = torch.empty_like(padded)
    else:
        padded, out = x.view(-1), y.view(-1)
    shape = Layout(padded.numel() // 16, 16)
    grid = (triton.cdiv(shape.rows, 64), triton.cdiv(shape.cols, 32))
    silu_tiles[grid](padded, out, (shape.rows, shape.cols), WIDE=wide(x.dtype), ACT=swish, BLOCK_R=64, BLOCK_C=32)
    if cols == 1:
        y.view(-1).copy_(out[:x.numel()])
    return y


def silu_out(self, *, out):
    return out.copy_(silu(self))
