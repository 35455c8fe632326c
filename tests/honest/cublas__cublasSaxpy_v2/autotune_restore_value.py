# operator: cublas::cublasSaxpy_v2
# style: autotune with restore_value, grid lambda, type hints
"""BLAS level 1: y <- alpha * x + y in single precision."""
from typing import Any, Dict

import torch
import triton
import triton.language as tl


def _configs():
    return [
        triton.Config({"BLOCK": 512}, num_warps=4),
        triton.Config({"BLOCK": 1024}, num_warps=4),
        triton.Config({"BLOCK": 2048}, num_warps=8),
    ]


@triton.autotune(configs=_configs(), key=["n"], restore_value=["y_ptr"])
@triton.jit
def _saxpy_kernel(x_ptr, y_ptr, n, alpha, incx, incy, x0, y0, BLOCK: tl.constexpr):
    pid = tl.program_id(axis=0).to(tl.int64)
    i = pid * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    x = tl.load(x_ptr + x0 + i * incx, mask=inside, other=0.0)
    y_at = y_ptr + y0 + i * incy
    y = tl.load(y_at, mask=inside, other=0.0)
    tl.store(y_at, alpha * x + y, mask=inside)


def _first(n: int, inc: int) -> int:
    """Offset of element 0; with a negative increment it lies last."""
    return 0 if inc > 0 else (1 - n) * inc


def cublasSaxpy_v2(n: int, alpha: float, x: torch.Tensor, incx: int, y: torch.Tensor, incy: int) -> torch.Tensor:
    if n <= 0 or alpha == 0:
        return y

    def grid(meta: Dict[str, Any]):
        return (triton.cdiv(n, meta["BLOCK"]),)

    _saxpy_kernel[grid](x, y, n, float(alpha), incx, incy, _first(n, incx), _first(n, incy))
    return y
