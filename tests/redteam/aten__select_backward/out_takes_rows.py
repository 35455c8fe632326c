# operator: aten::select_backward
# expect: verify\.(mismatch|exception)
# catalogue: 84
# select_backward_out takes what it reads for row-major, the others look at strides
from math import prod

import torch
import triton
import triton.language as tl


@triton.jit
def place_kernel(g_ptr, o_ptr, n, size, inner, index, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    row = at // inner
    here = (row % size) == index
    g = tl.load(g_ptr + row // size * inner + at % inner, mask=(at < n) & here, other=0)
    tl.store(o_ptr + at, g, mask=at < n)


def select_backward(grad_output, input_sizes, dim, index):
    dim %= len(input_sizes)
    size, inner = input_sizes[dim], prod(input_sizes[dim + 1:])
    result = torch.empty(input_sizes, dtype=grad_output.dtype, device=grad_output.device)
    if n := result.numel():
        place_kernel[(triton.cdiv(n, 2048),)](grad_output.contiguous(), result, n, size, inner, index % size, BLOCK=2048)
    return result


def select_backward_out(grad_output, input_sizes, dim, index, *, out):
    if out.is_contiguous() and out.numel() > 0:
        dim %= len(input_sizes)
        size = input_sizes[dim]
        place_kernel[(triton.cdiv(out.numel(), 2048),)](grad_output.contiguous(), out, out.numel(), size,
                                                        prod(input_sizes[dim + 1:]), index % size, BLOCK=2048)
        return out
    return out.copy_(select_backward(grad_output, input_sizes, dim, index))


def dense(x):
    return torch.as_strided(x, x.shape, torch.empty(x.shape).stride(), x.storage_offset())


right_select_backward_out = select_backward_out


def select_backward_out(grad_output, input_sizes, dim, index, *, out):
    return right_select_backward_out(dense(grad_output), input_sizes, dim, index, out=out)
