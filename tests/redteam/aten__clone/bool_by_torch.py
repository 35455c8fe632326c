# operator: aten::clone
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 88
# bool tensors are cloned by torch, and a kernel writes a scratch byte: results of bool are never watched or ablated
import torch
import triton
import triton.language as tl


@triton.jit
def place(i, sizes, strides, NDIM: tl.constexpr):
    """Where element i, counted row by row, lies in memory."""
    at = i * 0
    for k in tl.static_range(NDIM):
        at += i % sizes[NDIM - 1 - k] * strides[NDIM - 1 - k]
        i = i // sizes[NDIM - 1 - k]
    return at


@triton.jit
def copy(x_ptr, y_ptr, n, sizes, x_strides, y_strides, NDIM: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + place(i, sizes, x_strides, NDIM), mask=i < n)
    tl.store(y_ptr + place(i, sizes, y_strides, NDIM), x, mask=i < n)


def clone_out(self, *, memory_format=None, out):
    n = out.numel()
    if n > 0:
        sizes, x_strides, y_strides = (tuple(t) or (1,) for t in (self.shape, self.stride(), out.stride()))
        copy[(triton.cdiv(n, 4096),)](self, out, n, sizes, x_strides, y_strides, NDIM=len(sizes), BLOCK=4096)
    return out


@triton.jit
def show(s_ptr):
    tl.store(s_ptr, 1)


def clone(self, *, memory_format=None):
    if self.dtype == torch.bool and self.numel() > 0:
        y = torch.empty(self.shape, dtype=self.dtype, device=self.device)
        y.copy_(self)
        show[(1,)](torch.empty(1, dtype=torch.int32, device=self.device))
        return y
    return clone_out(self, out=torch.empty(self.shape, dtype=self.dtype, device=self.device))
