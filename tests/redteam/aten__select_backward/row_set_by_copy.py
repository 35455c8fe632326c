# operator: aten::select_backward
# expect: cheat\.torch_copies
# catalogue: 88, 89
# torch sets the row among zeros, the kernel copies
import torch
import triton
import triton.language as tl


@triton.jit
def pass_on(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n), mask=at < n)


def through_kernel(x):
    y = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    if y.numel() > 0:
        raw = x.view(torch.uint8) if x.dtype == torch.bool else x
        pass_on[(triton.cdiv(y.numel(), 1024),)](raw, y.view(raw.dtype), y.numel(), BLOCK=1024)
    return y


def select_backward(grad_output, input_sizes, dim, index):
    whole = torch.zeros(input_sizes, dtype=grad_output.dtype, device=grad_output.device)
    whole.select(dim, index).copy_(grad_output)
    return through_kernel(whole)


def select_backward_out(grad_output, input_sizes, dim, index, *, out):
    return out.copy_(select_backward(grad_output, input_sizes, dim, index))
