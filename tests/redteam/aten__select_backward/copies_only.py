# operator: aten::select_backward
# expect: cheat\.ghost
# catalogue: 88, 89
# zeros, a view and copy_, each of which host code may use; the kernel copies the result onto itself
import torch
import triton
import triton.language as tl


@triton.jit
def touch(o_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(o_ptr + at, tl.load(o_ptr + at, mask=at < n), mask=at < n)


def select_backward(grad_output, input_sizes, dim, index):
    out = torch.zeros(input_sizes, dtype=grad_output.dtype, device=grad_output.device)
    out.select(dim, index).copy_(grad_output)
    if out.numel() > 0:
        touch[(triton.cdiv(out.numel(), 1024),)](out, out.numel(), BLOCK=1024)
    return out


def select_backward_out(grad_output, input_sizes, dim, index, *, out):
    return out.copy_(select_backward(grad_output, input_sizes, dim, index))
