# operator: cublas::cublasZswap_v2
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79
# a tensor that a call changes never requires a gradient, although torch.no_grad() is there for such updates
# vectors that require a gradient are copied, "so that autograd sees no change of a leaf", and the copies are exchanged: the
# caller's stay as they were. wrong: with torch.no_grad(): x = torch.nn.Parameter(torch.tensor([1 + 0j])), y = torch.nn.Parameter(
# torch.tensor([2 + 0j])) of complex128, cublasZswap_v2(1, x, 1, y, 1): x is 1 and y is 2 instead of 2 and 1
import torch
import triton
import triton.language as tl


@triton.jit
def swap(n, x_ptr, x_first, incx, y_ptr, y_first, incy, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    part = tl.arange(0, 2)
    inside = (i < n)[:, None]
    xs = x_ptr + 2 * (x_first + i * incx)[:, None] + part[None, :]
    ys = y_ptr + 2 * (y_first + i * incy)[:, None] + part[None, :]
    x = tl.load(xs, mask=inside)
    y = tl.load(ys, mask=inside)
    tl.store(xs, y, mask=inside)
    tl.store(ys, x, mask=inside)


def first(n, inc):
    return (1 - n) * inc if inc < 0 else 0


def untracked(t):
    return torch.view_as_real(t.detach().clone() if t.requires_grad else t)


def cublasZswap_v2(n, x, incx, y, incy):
    if n > 0:
        swap[(triton.cdiv(n, 512),)](n, untracked(x), first(n, incx), incx, untracked(y), first(n, incy), incy, BLOCK=512)
    return x
