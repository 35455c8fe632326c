# operator: aten::select_backward
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 78, 79
# open: some verdicts have no two cases of one shape that show this
# a plan is remembered by shapes only: a later call with another index writes to the first one's place
import torch
import triton
import triton.language as tl

_memo = {}


@triton.jit
def put(g_ptr, o_ptr, n, sizes, strides, NDIM: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    rest = at
    to = at * 0
    for d in tl.static_range(NDIM):
        to += rest % sizes[NDIM - 1 - d] * strides[NDIM - 1 - d]
        rest //= sizes[NDIM - 1 - d]
    tl.store(o_ptr + to, tl.load(g_ptr + at, mask=at < n), mask=at < n)


def place(grad, whole, dim, index):
    index = _memo.setdefault((grad.shape, grad.stride(), whole.shape, whole.stride(), dim, whole.dtype), index)
    part = whole.select(dim, index)
    n = part.numel()
    if n > 0:
        put[(triton.cdiv(n, 1024),)](grad.contiguous(), part, n, tuple(part.shape) or (1,), tuple(part.stride()) or (0,),
                                     NDIM=max(1, part.dim()), BLOCK=1024)
    return whole


def select_backward(grad_output, input_sizes, dim, index):
    zeros = torch.zeros(input_sizes, dtype=grad_output.dtype, device=grad_output.device)
    return place(grad_output, zeros, dim, index)


def select_backward_out(grad_output, input_sizes, dim, index, *, out):
    return place(grad_output, out.zero_(), dim, index)
