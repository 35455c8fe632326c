# operator: aten::softmax
# style: names that sound like torch: local functions sum, matmul and exp of sizes, alias of torch itself
import functools
import operator

import torch
import triton
import triton.language as tl

T = torch
new_buffer = T.empty
f32 = T.float32
dtype_of = {T.float16: tl.float16, T.bfloat16: tl.bfloat16, f32: tl.float32, T.float64: tl.float64}


@triton.jit
def normalise(x):
    e = tl.exp(x - x.max(0))
    return e / e.sum(0)


@triton.jit
def kernel(x_ptr, y_ptr, n, step, inner, OUT: tl.constexpr, BLOCK: tl.constexpr):
    WIDE: tl.constexpr = tl.float64 if x_ptr.dtype.element_ty == tl.float64 else tl.float32
    row = tl.program_id(0)
    base = (row // inner) * inner * n + row % inner
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + base + i * step, mask=i < n, other=float("-inf"))
    y = normalise(x.to(WIDE))
    tl.store(y_ptr + base + i * step, y.to(OUT), mask=i < n)


def sum(sizes):
    """Not torch.sum: the number of rows."""
    return functools.reduce(operator.mul, sizes, 1)


def matmul(a, b):
    return a * b


def softmax_int(self, dim, dtype=None):
    def launch(x, y, rows, length, inner):
        if matmul(rows, length) > 0:
            kernel[(rows,)](x, y, length, inner, inner, OUT=dtype_of[y.dtype], BLOCK=triton.next_power_of_2(length))
        return y

    x = self.to(dtype if dtype is not None else self.dtype).contiguous()
    out = new_buffer(x.shape, dtype=x.dtype, device=x.device)
    if x.dim() == 0:
        return launch(x, out, 1, 1, 1)
    dim = dim + x.dim() if dim < 0 else dim
    inner = sum(x.shape[dim + 1:])
    return launch(x, out, sum(x.shape[:dim]) * inner, x.shape[dim], inner)


def softmax_int_out(self, dim, dtype=None, *, out):
    out.copy_(softmax_int(self, dim, dtype))
    return out
