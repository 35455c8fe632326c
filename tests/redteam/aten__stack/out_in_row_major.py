# operator: aten::stack
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79
# layouts of out that no template draws
# out counts as row-major with one distance between all neighbours (contiguous, or every second element); wrong:
# stack_out([a, b], 0, out=torch.empty(2, 5, 3).mT) for a, b of shape (3, 5), and out with gaps behind its rows
import math

import torch
import triton
import triton.language as tl


@triton.jit
def spread(x_ptr, o_ptr, n, inner, gap, shift, step, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n).to(o_ptr.dtype.element_ty)
    tl.store(o_ptr + (at // inner * gap + shift + at % inner) * step, x, mask=at < n)


def lay_out(tensors, place, out, step):
    first = tensors[0]
    inner = math.prod(first.shape[place:])
    n = first.numel()
    if n > 0:
        target = out.view(torch.uint8) if out.dtype is torch.bool else out
        for k, t in enumerate(tensors):
            source = t.detach().contiguous()
            source = source.view(torch.uint8) if t.dtype is torch.bool else source
            spread[(triton.cdiv(n, 1024),)](source, target, n, inner, inner * len(tensors), k * inner, step, BLOCK=1024)
    return out


def stack(tensors, dim=0):
    first = tensors[0]
    dtype = first.dtype
    for t in tensors:
        dtype = torch.promote_types(dtype, t.dtype)
    dim = dim if dim >= 0 else dim + len(first.shape) + 1
    shape = (*first.shape[:dim], len(tensors), *first.shape[dim:])
    return lay_out(tensors, dim, torch.empty(shape, dtype=dtype, device=first.device), 1)


def stack_out(tensors, dim=0, *, out):
    steps = [stride for size, stride in zip(out.shape, out.stride()) if size > 1]
    dim = dim if dim >= 0 else dim + len(out.shape)
    return lay_out(tensors, dim, out, 1 if out.is_contiguous() else min(steps, default=1))
