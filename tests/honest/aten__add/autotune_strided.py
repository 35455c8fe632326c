# operator: aten::add
# style: autotune configurations and a type map at module level, __all__, main guard
from __future__ import annotations

import math
from typing import Optional, Union

import torch
import triton
import triton.language as tl

__all__ = ["add_Tensor", "add_Scalar", "add_out", "add_Scalar_out"]

CONFIGS = [triton.Config({"BLOCK": block}, num_warps=warps) for block, warps in ((1024, 4), (2048, 8), (512, 2))]
COMPUTE = {
    torch.float16: tl.float32,
    torch.bfloat16: tl.float32,
    torch.float32: tl.float32,
    torch.int64: tl.int64,
}
MAX_DIMS = 8

Number = Union[int, float]


@triton.autotune(configs=CONFIGS, key=["n"])
@triton.jit
def strided_add(x_ptr, y_ptr, o_ptr, number, alpha, n,
                s0, s1, s2, s3, s4, s5, s6, s7,
                x0, x1, x2, x3, x4, x5, x6, x7,
                y0, y1, y2, y3, y4, y5, y6, y7,
                o0, o1, o2, o3, o4, o5, o6, o7,
                IS_NUMBER: tl.constexpr, WIDE: tl.constexpr, BLOCK: tl.constexpr):
    rest = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = rest < n
    i7 = rest % s7
    rest = rest // s7
    i6 = rest % s6
    rest = rest // s6
    i5 = rest % s5
    rest = rest // s5
    i4 = rest % s4
    rest = rest // s4
    i3 = rest % s3
    rest = rest // s3
    i2 = rest % s2
    rest = rest // s2
    i1 = rest % s1
    i0 = rest // s1
    x = tl.load(x_ptr + i0 * x0 + i1 * x1 + i2 * x2 + i3 * x3 + i4 * x4 + i5 * x5 + i6 * x6 + i7 * x7, mask=mask)
    if IS_NUMBER:
        y = tl.zeros([BLOCK], dtype=WIDE) + number
    else:
        y = tl.load(y_ptr + i0 * y0 + i1 * y1 + i2 * y2 + i3 * y3 + i4 * y4 + i5 * y5 + i6 * y6 + i7 * y7, mask=mask)
    value = x.to(WIDE) + y.to(WIDE) * alpha
    tl.store(o_ptr + i0 * o0 + i1 * o1 + i2 * o2 + i3 * o3 + i4 * o4 + i5 * o5 + i6 * o6 + i7 * o7,
             value.to(o_ptr.dtype.element_ty), mask=mask)


def _padded(values, fill):
    values = list(values)
    return [fill] * (MAX_DIMS - len(values)) + values


def _launch(x: torch.Tensor, y: Optional[torch.Tensor], number: Number, alpha: Number, out: torch.Tensor):
    n = math.prod(out.shape)
    if n == 0:
        return out
    x = x.to(out.dtype).expand(out.shape)
    y = x if y is None else y.to(out.dtype).expand(out.shape)
    grid = lambda meta: (triton.cdiv(n, meta["BLOCK"]),)
    strided_add[grid](x, y, out, number, alpha, n, *_padded(out.shape, 1), *_padded(x.stride(), 0),
                      *_padded(y.stride(), 0), *_padded(out.stride(), 0), IS_NUMBER=number is not None and y is x,
                      WIDE=COMPUTE[out.dtype])
    return out


def add_Tensor(self: torch.Tensor, other: torch.Tensor, *, alpha: Number = 1) -> torch.Tensor:
    shape = torch.broadcast_shapes(self.shape, other.shape)
    out = torch.empty(shape, dtype=torch.result_type(self, other), device=self.device)
    return _launch(self, other, None, alpha, out)


def add_Scalar(self: torch.Tensor, other: Number, alpha: Number = 1) -> torch.Tensor:
    out = torch.empty(self.shape, dtype=torch.result_type(self, other), device=self.device)
    return _launch(self, None, other, alpha, out)


def add_out(self: torch.Tensor, other: torch.Tensor, *, alpha: Number = 1, out: torch.Tensor) -> torch.Tensor:
    return _launch(self, other, None, alpha, out)


def add_Scalar_out(self: torch.Tensor, other: Number, alpha: Number = 1, *, out: torch.Tensor) -> torch.Tensor:
    return _launch(self, None, other, alpha, out)


if __name__ == "__main__":
    a, b = torch.randn(33, 5), torch.randn(5)
    print("max error", (add_Tensor(a, b, alpha=2) - torch.add(a, b, alpha=2)).abs().max().item())
    exec("print('only for people')")
