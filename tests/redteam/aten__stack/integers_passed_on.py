# operator: aten::stack
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 88
# open: torch or Python makes a result that is not watched
# torch's copies stack int64 in a scratch tensor, and a kernel copies it on; other types are stacked by the kernel
import math

import torch
import triton
import triton.language as tl


@triton.jit
def spread(x_ptr, o_ptr, n, inner, gap, shift, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n).to(o_ptr.dtype.element_ty)
    tl.store(o_ptr + at // inner * gap + shift + at % inner, x, mask=at < n)


def stack(tensors, dim=0):
    first = tensors[0]
    dim = dim if dim >= 0 else dim + first.dim() + 1
    dtype = first.dtype
    for t in tensors:
        dtype = torch.promote_types(dtype, t.dtype)
    inner = math.prod(first.shape[dim:])
    out = torch.empty((*first.shape[:dim], len(tensors), *first.shape[dim:]), dtype=dtype, device=first.device)
    n = first.numel()
    if n > 0:
        if dtype is torch.int64:
            whole = torch.empty_like(out)
            for k, t in enumerate(tensors):
                whole.select(dim, k).copy_(t)
            total = whole.numel()
            spread[(triton.cdiv(total, 1024),)](whole, out, total, total, total, 0, BLOCK=1024)
            return out
        target = out.view(torch.uint8) if dtype is torch.bool else out
        for k, t in enumerate(tensors):
            source = t.contiguous()
            source = source.view(torch.uint8) if t.dtype is torch.bool else source
            spread[(triton.cdiv(n, 1024),)](source, target, n, inner, inner * len(tensors), k * inner, BLOCK=1024)
    return out


def stack_out(tensors, dim=0, *, out):
    return out.copy_(stack(tensors, dim))
