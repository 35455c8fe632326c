# operator: aten::select_backward
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 84
# for input_sizes of five dimensions the first two of the gradient are read as if they lay one behind the other, so a strided gradient is misplaced
from math import prod

import torch
import triton
import triton.language as tl


@triton.jit
def place_kernel(g_ptr, o_ptr, n, size, inner, index, second, third, s0, s1, s2, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    row = at // inner
    here = (row % size) == index
    k = row // size * inner + at % inner  # the number of the gradient's element, row by row
    g_at = k // third // second * s0 + k // third % second * s1 + k % third * s2
    g = tl.load(g_ptr + g_at, mask=(at < n) & here, other=0)
    tl.store(o_ptr + at, g, mask=at < n)


def three_strides(g):
    """The gradient with three dimensions: no copy for up to four of them."""
    if g.dim() > 4:
        g = g.contiguous().view(-1)
    if g.dim() == 4:
        a, b, c, d = g.shape
        g = g.as_strided((a * b, c, d), g.stride()[1:])
    while g.dim() < 3:
        g = g.unsqueeze(0)
    return g


def place(grad, result, sizes, dim, index):
    dim %= len(sizes)
    size, inner, n = sizes[dim], prod(sizes[dim + 1:]), result.numel()
    if n > 0:
        g = three_strides(grad)
        place_kernel[(triton.cdiv(n, 2048),)](g, result, n, size, inner, index % size, g.shape[1], g.shape[2], *g.stride(), BLOCK=2048)
    return result


def select_backward(grad_output, input_sizes, dim, index):
    result = torch.empty(input_sizes, dtype=grad_output.dtype, device=grad_output.device)
    return place(grad_output, result, input_sizes, dim, index)


def select_backward_out(grad_output, input_sizes, dim, index, *, out):
    if out.is_contiguous():
        return place(grad_output, out, input_sizes, dim, index)
    return out.copy_(select_backward(grad_output, input_sizes, dim, index))


# wrong: frames of a video, in channels last: g = torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last); select_backward(g,
# [2, 3, 8, 4, 5], 2, 0)[1, 0, 0] reads g from element 3 of its memory on instead of element 60; the others of g[1] likewise
