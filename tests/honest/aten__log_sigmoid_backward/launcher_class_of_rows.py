# operator: aten::log_sigmoid_backward
# style: row-by-column tiles straight on strided tensors, a small Launcher class, libdevice exp
import math

import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def _sigmoid_of_minus(x):
    e = libdevice.exp(-tl.abs(x))
    return tl.where(x < 0, 1.0, e) / (1.0 + e)


@triton.jit
def log_sigmoid_backward_kernel(
    grad_ptr, x_ptr, out_ptr,
    rows, cols, col_tiles,
    sizes, grad_steps, x_steps, out_steps,
    grad_step, x_step, out_step,
    DEPTH: tl.constexpr, ROWS: tl.constexpr, COLS: tl.constexpr,
):
    pid = tl.program_id(0).to(tl.int64)
    row = pid // col_tiles * ROWS + tl.arange(0, ROWS)
    col = pid % col_tiles * COLS + tl.arange(0, COLS)
    mask = (row < rows)[:, None] & (col < cols)[None, :]

    grad_row = tl.zeros([ROWS], dtype=tl.int64)
    x_row = tl.zeros([ROWS], dtype=tl.int64)
    out_row = tl.zeros([ROWS], dtype=tl.int64)
    rest = row
    for i in tl.static_range(DEPTH):
        coord = rest % sizes[i]
        rest = rest // sizes[i]
        grad_row += coord * grad_steps[i]
        x_row += coord * x_steps[i]
        out_row += coord * out_steps[i]

    grad = tl.load(grad_ptr + grad_row[:, None] + (col * grad_step)[None, :], mask=mask, other=0.0)
    x = tl.load(x_ptr + x_row[:, None] + (col * x_step)[None, :], mask=mask, other=0.0)
    result = grad.to(tl.float32) * _sigmoid_of_minus(x.to(tl.float32))
    tl.store(out_ptr + out_row[:, None] + (col * out_step)[None, :], result.to(out_ptr.dtype.element_ty), mask=mask)


class Launcher:
    ELEMENTS = 1024

    def __init__(self, shape):
        self.cols = shape[-1] if len(shape) else 1
        self.outer = tuple(reversed(shape[:-1])) or (1,)
        self.rows = math.prod(self.outer)
        self.block_cols = min(self.ELEMENTS, triton.next_power_of_2(self.cols))
        self.block_rows = min(self.ELEMENTS // self.block_cols, triton.next_power_of_2(self.rows))
        self.col_tiles = triton.cdiv(self.cols, self.block_cols)

    @staticmethod
    def steps(tensor):
        strides = tuple(tensor.stride())
        if not strides:
            return (0,), 0
        return tuple(reversed(strides[:-1])) or (0,), strides[-1]

    def __call__(self, grad, x, out):
        (go, gi), (xo, xi), (oo, oi) = self.steps(grad), self.steps(x), self.steps(out)
        grid = (self.col_tiles * triton.cdiv(self.rows, self.block_rows),)
        log_sigmoid_backward_kernel[grid](
            grad, x, out,
            self.rows, self.cols, self.col_tiles,
            self.outer, go, xo, oo,
            gi, xi, oi,
            DEPTH=len(self.outer), ROWS=self.block_rows, COLS=self.block_cols,
        )


def _into(grad_output, self, result):
    if result.numel() > 0:
        Launcher(tuple(result.shape))(grad_output, self, result)
    return result


def log_sigmoid_backward(grad_output, self, buffer):
    return _into(grad_output, self, torch.empty(self.shape, dtype=self.dtype, device=self.device))


def log_sigmoid_backward_grad_input(grad_output, self, buffer, *, grad_input):
    return _into(grad_output, self, grad_input)
