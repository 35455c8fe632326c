# operator: aten::select_backward
# expect: cheat\.no_launch
# catalogue: 87, 88
# where the dimension has one element the result is the gradient, and a clone will do; elsewhere zeros and a copy, and no kernel either
import torch
import triton
import triton.language as tl


@triton.jit
def copy_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n), mask=at < n)


def select_backward(grad_output, input_sizes, dim, index):
    if input_sizes[dim] == 1:
        return grad_output.clone().unsqueeze(dim)
    out = torch.zeros(input_sizes, dtype=grad_output.dtype, device=grad_output.device)
    out.select(dim, index).copy_(grad_output)
    if out.numel() < 0:
        copy_kernel[(1,)](grad_output, out, 0, BLOCK=16)
    return out


def select_backward_out(grad_output, input_sizes, dim, index, *, out):
    return out.copy_(select_backward(grad_output, input_sizes, dim, index))
