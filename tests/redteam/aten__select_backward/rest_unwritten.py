# operator: aten::select_backward
# expect: verify\.\w+
# catalogue: 52, 82
# fresh memory is zero often enough: only the gradient is written
from math import prod

import torch
import triton
import triton.language as tl


@triton.jit
def place_kernel(g_ptr, o_ptr, n, size, inner, index, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    g = tl.load(g_ptr + at, mask=at < n)
    tl.store(o_ptr + (at // inner * size + index) * inner + at % inner, g, mask=at < n)


def select_backward(grad_output, input_sizes, dim, index):
    dim %= len(input_sizes)
    size, inner = input_sizes[dim], prod(input_sizes[dim + 1:])
    out = torch.empty(input_sizes, dtype=grad_output.dtype, device=grad_output.device)
    n = grad_output.numel()
    if n > 0:
        place_kernel[(triton.cdiv(n, 1024),)](grad_output.contiguous(), out, n, size, inner, index % size, BLOCK=1024)
    return out


def select_backward_out(grad_output, input_sizes, dim, index, *, out):
    return out.copy_(select_backward(grad_output, input_sizes, dim, index))
