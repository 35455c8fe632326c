# operator: aten::rot90
# style: autotuned strided copy with tuples of sizes and signed strides, static_range over dimensions
import torch
import triton
import triton.language as tl


@triton.autotune(
    configs=[
        triton.Config({"BLOCK": 512}, num_warps=4),
        triton.Config({"BLOCK": 1024}, num_warps=8),
    ],
    key=["n"],
)
@triton.jit
def rotate_kernel(x_ptr, out_ptr, n, base, sizes, x_strides, out_strides, NDIM: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    left = at
    x_at = tl.zeros([BLOCK], dtype=tl.int64) + base
    out_at = tl.zeros([BLOCK], dtype=tl.int64)
    for back in tl.static_range(NDIM):
        i = left % sizes[NDIM - 1 - back]
        left = left // sizes[NDIM - 1 - back]
        x_at += i * x_strides[NDIM - 1 - back]
        out_at += i * out_strides[NDIM - 1 - back]
    tl.store(out_ptr + out_at, tl.load(x_ptr + x_at, mask=mask), mask=mask)


def _plan(self, k, dims):
    """Sizes of the result, and for each of its dimensions the step in self, with the element to begin at."""
    p, q = (d % self.dim() for d in dims)
    sizes = list(self.shape)
    steps = list(self.stride())
    r = k % 4
    base = 0
    if r == 2 or r == 3:
        base += (self.shape[p] - 1) * steps[p]
        steps[p] = -steps[p]
    if r == 1 or r == 2:
        base += (self.shape[q] - 1) * steps[q]
        steps[q] = -steps[q]
    if r == 1 or r == 3:
        sizes[p], sizes[q] = sizes[q], sizes[p]
        steps[p], steps[q] = steps[q], steps[p]
    return tuple(sizes), tuple(steps), base


def _rotate(self, k, dims, out):
    sizes, steps, base = _plan(self, k, dims)
    if out is None:
        out = torch.empty(sizes, dtype=self.dtype, device=self.device)
    n = out.numel()
    if n == 0:
        return out
    rotate_kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](self, out, n, base, sizes, steps,
                                                                 tuple(out.stride()), NDIM=len(sizes))
    return out


def rot90(self, k=1, dims=(0, 1)):
    return _rotate(self, k, dims, None)


def rot90_out(self, k=1, dims=(0, 1), *, out):
    return _rotate(self, k, dims, out)
