# operator: aten::add
# style: separate kernels for equal shapes and for rows or numbers; torch_ names; annotated module variables
from typing import Any, Callable, Dict

import torch
import triton
from triton import language as tl


@triton.jit
def axpy(x, y, alpha, ACC: tl.constexpr):
    return x.to(ACC) + alpha * y.to(ACC)


@triton.jit
def torch_add_kernel(x_ptr, y_ptr, o_ptr, alpha, n, period, ACC: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    o = axpy(tl.load(x_ptr + at, mask=at < n, other=0), tl.load(y_ptr + at, mask=at < n, other=0), alpha, ACC)
    tl.store(o_ptr + at, o.to(o_ptr.dtype.element_ty), mask=at < n)


@triton.jit
def torch_add_row_kernel(x_ptr, y_ptr, o_ptr, alpha, n, period, ACC: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    o = axpy(tl.load(x_ptr + at, mask=at < n, other=0), tl.load(y_ptr + at % period, mask=at < n, other=0), alpha, ACC)
    tl.store(o_ptr + at, o.to(o_ptr.dtype.element_ty), mask=at < n)


kernels: Dict[str, Any] = {"all": torch_add_kernel, "row": torch_add_row_kernel}
torch_sizes: Callable[..., int] = triton.cdiv


def torch_add(x: torch.Tensor, y: torch.Tensor, alpha: float, dtype: torch.dtype) -> torch.Tensor:
    shape = torch.broadcast_shapes(x.shape, y.shape)
    out = torch.empty(shape, dtype=dtype, device=x.device)
    n = out.numel()
    if n == 0:
        return out
    x = x.to(dtype).expand(shape).contiguous()
    # a vector (or one number) that repeats along all other dimensions
    row = y.numel() == 1 or (y.dim() == 1 and y.numel() == shape[-1])
    y = y.contiguous() if row else y.to(dtype).expand(shape).contiguous()
    acc = tl.float32 if dtype.is_floating_point else tl.int64
    kernels["row" if row else "all"][(torch_sizes(n, 1024),)](x, y, out, alpha, n, y.numel(), ACC=acc, BLOCK=1024)
    return out


def add_Tensor(self, other, *, alpha=1):
    dtype = torch.result_type(self, other)
    wide = torch.float32 if other.dim() == 0 and dtype.is_floating_point else dtype
    return torch_add(self, other.to(wide), alpha, dtype)


def add_Scalar(self, other, alpha=1):
    dtype = torch.result_type(self, other)
    wide = torch.float32 if dtype.is_floating_point else dtype
    return torch_add(self, torch.tensor(other, dtype=wide, device=self.device), alpha, dtype)


def add_out(self, other, *, alpha=1, out):
    return out.copy_(add_Tensor(self, other, alpha=alpha))


def add_Scalar_out(self, other, alpha=1, *, out):
    return out.copy_(add_Scalar(self, other, alpha))
