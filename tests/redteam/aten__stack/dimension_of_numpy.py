# operator: aten::stack
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 85
# open: numpy.int64
# a dimension that is no int of Python (numpy.int64, as numpy.argmin gives) counts as 0; wrong: stack([a, b], numpy.int64(1))
import math

import torch
import triton
import triton.language as tl


@triton.jit
def pick(k, p0, p1, p2, p3, at, mask, N: tl.constexpr, TYPE: tl.constexpr):
    x = tl.load(p0 + at, mask=mask & (k == 0), other=0).to(TYPE)
    if N > 1:
        x = tl.where(k == 1, tl.load(p1 + at, mask=mask & (k == 1), other=0).to(TYPE), x)
    if N > 2:
        x = tl.where(k == 2, tl.load(p2 + at, mask=mask & (k == 2), other=0).to(TYPE), x)
    if N > 3:
        x = tl.where(k == 3, tl.load(p3 + at, mask=mask & (k == 3), other=0).to(TYPE), x)
    return x


@triton.jit
def stack_kernel(p0, p1, p2, p3, o_ptr, n, inner, N: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    k = i // inner % N
    source = i // (inner * N) * inner + i % inner
    x = pick(k, p0, p1, p2, p3, source, i < n, N, o_ptr.dtype.element_ty)
    tl.store(o_ptr + i, x, mask=i < n)


def _promoted(tensors):
    dtype = tensors[0].dtype
    for t in tensors[1:]:
        dtype = torch.promote_types(dtype, t.dtype)
    return dtype


def _four(group):
    return [*group, *[group[0]] * (4 - len(group))]


def stack(tensors, dim=0):
    shape = list(tensors[0].shape)
    dim = dim % (len(shape) + 1) if isinstance(dim, int) else 0
    inner = math.prod(shape[dim:])
    dtype = _promoted(tensors)
    out = torch.empty([*shape[:dim], len(tensors), *shape[dim:]], dtype=dtype, device=tensors[0].device)
    if out.numel() == 0:
        return out
    if len(tensors) > 4:
        # four at a time into parts of the result
        for start in range(0, len(tensors), 4):
            part = stack(tensors[start:start + 4], dim)
            out.narrow(dim, start, part.shape[dim]).copy_(part)
        return out
    raw = [t.contiguous() for t in tensors]
    if dtype == torch.bool:
        raw = [t.view(torch.uint8) for t in raw]
    target = out.view(torch.uint8) if dtype == torch.bool else out
    stack_kernel[(triton.cdiv(out.numel(), 1024),)](*_four(raw), target, out.numel(), inner, N=len(raw), BLOCK=1024)
    return out


def stack_out(tensors, dim=0, *, out):
    return out.copy_(stack(tensors, dim))
