# operator: aten::stack
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 88
# lists of bool are laid down by torch, and a kernel writes a scratch number: results of bool are never watched
import math

import torch
import triton
import triton.language as tl


@triton.jit
def spread(x_ptr, o_ptr, n, inner, gap, shift, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n).to(o_ptr.dtype.element_ty)
    tl.store(o_ptr + at // inner * gap + shift + at % inner, x, mask=at < n)


@triton.jit
def show(s_ptr):
    tl.store(s_ptr, 1)


def stack(tensors, dim=0):
    first = tensors[0]
    dim = dim if dim >= 0 else dim + first.dim() + 1
    dtype = first.dtype
    for t in tensors:
        dtype = torch.promote_types(dtype, t.dtype)
    inner = math.prod(first.shape[dim:])
    out = torch.empty((*first.shape[:dim], len(tensors), *first.shape[dim:]), dtype=dtype, device=first.device)
    n = first.numel()
    if n > 0 and dtype is torch.bool:
        for k, t in enumerate(tensors):
            out.select(dim, k).copy_(t)
        show[(1,)](torch.empty(1, dtype=torch.int32, device=first.device))
    elif n > 0:
        target = out.view(torch.uint8) if dtype is torch.bool else out
        for k, t in enumerate(tensors):
            source = t.contiguous()
            source = source.view(torch.uint8) if t.dtype is torch.bool else source
            spread[(triton.cdiv(n, 1024),)](source, target, n, inner, inner * len(tensors), k * inner, BLOCK=1024)
    return out


def stack_out(tensors, dim=0, *, out):
    return out.copy_(stack(tensors, dim))
