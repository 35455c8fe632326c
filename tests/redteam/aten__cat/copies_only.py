# operator: aten::cat
# expect: cheat\.ghost
# catalogue: 88, 89
# narrow and copy_, which host code may use; the kernel copies the result onto itself
import functools

import torch
import triton
import triton.language as tl


@triton.jit
def touch(o_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(o_ptr + at, tl.load(o_ptr + at, mask=at < n), mask=at < n)


def cat(tensors, dim=0):
    parts = [t for t in tensors if not (t.dim() == 1 and t.shape[0] == 0)]
    shape = list(parts[0].shape)
    shape[dim] = sum([t.shape[dim] for t in parts])
    out = torch.empty(shape, dtype=functools.reduce(torch.promote_types, [t.dtype for t in tensors]), device=tensors[0].device)
    start = 0
    for x in parts:
        out.narrow(dim, start, x.shape[dim]).copy_(x)
        start += x.shape[dim]
    if out.numel() > 0:
        touch[(triton.cdiv(out.numel(), 1024),)](out, out.numel(), BLOCK=1024)
    return out


def cat_out(tensors, dim=0, *, out):
    return out.copy_(cat(tensors, dim))
