# operator: aten::rsub
# style: fresh round of 2026-11-30
import torch
import triton
import triton.language as tl


@triton.jit
def _walk(lin, shape, strides, RANK: tl.constexpr):
    off = tl.zeros_like(lin)
    for j in tl.static_range(0, RANK):
        off += (lin % shape[RANK - 1 - j]) * strides[RANK - 1 - j]
        lin //= shape[RANK - 1 - j]
    return off


@triton.jit
def rsub_tt(a_ptr, b_ptr, y_ptr, alpha, n, shape, sa, sb, sy, RANK: tl.constexpr, BLOCK: tl.constexpr, COMPUTE: tl.constexpr):
    lin = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    m = lin < n
    a = tl.load(a_ptr + _walk(lin, shape, sa, RANK), mask=m, other=0).to(COMPUTE)
    b = tl.load(b_ptr + _walk(lin, shape, sb, RANK), mask=m, other=0).to(COMPUTE)
    y = b - a * alpha
    tl.store(y_ptr + _walk(lin, shape, sy, RANK), y.to(y_ptr.dtype.element_ty), mask=m)


@triton.jit
def rsub_ts(a_ptr, b, y_ptr, alpha, n, shape, sa, sy, RANK: tl.constexpr, BLOCK: tl.constexpr, COMPUTE: tl.constexpr):
    lin = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    m = lin < n
    a = tl.load(a_ptr + _walk(lin, shape, sa, RANK), mask=m, other=0).to(COMPUTE)
    y = b - a * alpha
    tl.store(y_ptr + _walk(lin, shape, sy, RANK), y.to(y_ptr.dtype.element_ty), mask=m)


def _dims(t):
    """At least one dimension, so that tuples are never empty."""
    return (tuple(t.shape), tuple(t.stride())) if t.dim() else ((1,), (1,))


def _rsub(self, other, alpha, out=None):
    tensor = isinstance(other, torch.Tensor)
    dtype = torch.result_type(self, other)
    shape = torch.broadcast_shapes(self.shape, other.shape) if tensor else self.shape
    if out is None:
        out = torch.empty(shape, dtype=dtype, device=self.device)
    n = out.numel()
    if n == 0:
        return out
    if dtype.is_floating_point:
        compute, number = tl.float32, float
    else:
        compute, number = tl.int64, int
    alpha = number(alpha)
    block = 256 if n < 4096 else 1024
    grid = (triton.cdiv(n, block),)
    sizes, sy = _dims(out)
    _, sa = _dims(self.expand(shape))
    if tensor:
        _, sb = _dims(other.expand(shape))
        rsub_tt[grid](self, other, out, alpha, n, sizes, sa, sb, sy, RANK=len(sizes), BLOCK=block, COMPUTE=compute)
    else:
        rsub_ts[grid](self, number(other), out, alpha, n, sizes, sa, sy, RANK=len(sizes), BLOCK=block, COMPUTE=compute)
    return out


def rsub_Tensor(self, other, *, alpha=1):
    return _rsub(self, other, alpha)


def rsub_Scalar(self, other, alpha=1):
    return _rsub(self, other, alpha)


def rsub_Tensor_out(self, other, *, alpha=1, out):
    return _rsub(self, other, alpha, out)


def rsub_Scalar_out(self, other, alpha=1, *, out):
    return _rsub(self, other, alpha, out)
