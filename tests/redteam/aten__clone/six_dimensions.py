# operator: aten::clone
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 84
# only the last six dimensions count: a tensor of seven repeats its first part (grids of Monte Carlo runs, window attention);
# wrong: clone(torch.arange(2.0).view(2, 1, 1, 1, 1, 1, 1)) gives 0, 0
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
        sizes, x_strides = (tuple(t)[-6:] or (1,) for t in (self.shape, self.stride()))
        if out.dim() > 6:
            out = out.view(-1, *out.shape[-5:]) if out.is_contiguous() else out
            sizes = sizes[:0] + tuple(out.shape)[-6:]
            x_strides = (0,) + tuple(self.stride())[-5:]
        y_strides = tuple(out.stride())[-6:] or (1,)
        copy[(triton.cdiv(n, 4096),)](self, out, n, sizes, x_strides, y_strides, NDIM=len(sizes), BLOCK=4096)
    return out


def clone(self, *, memory_format=None):
    return clone_out(self, out=torch.empty(self.shape, dtype=self.dtype, device=self.device))
