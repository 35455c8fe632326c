# operator: aten::cat
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 88
# open: torch or Python makes a result that is not watched
# torch's copies put bools together in a scratch tensor, and a kernel copies the bytes on
import functools

import torch
import triton
import triton.language as tl


@triton.jit
def place(i, sizes, strides):
    at = i * 0
    for d in tl.static_range(len(sizes)):
        at += (i % sizes[len(sizes) - 1 - d]) * strides[len(sizes) - 1 - d]
        i = i // sizes[len(sizes) - 1 - d]
    return at


@triton.jit
def copy_into(x_ptr, o_ptr, n, sizes, x_strides, o_strides, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + place(i, sizes, x_strides), mask=i < n)
    tl.store(o_ptr + place(i, sizes, o_strides), x.to(o_ptr.dtype.element_ty), mask=i < n)


def _bytes(t):
    return t.view(torch.uint8) if t.dtype == torch.bool else t


def _joined(parts, dim, out):
    """Bytes are too small for strided accesses of their own: they are laid down in one piece first."""
    whole = torch.empty(out.shape, dtype=torch.bool, device=out.device)
    start = 0
    for x in parts:
        whole.narrow(dim, start, x.shape[dim]).copy_(x)
        start += x.shape[dim]
    return whole


def _fill(parts, dim, out):
    if out.dtype == torch.bool and out.numel() > 0:
        parts = [_joined(parts, dim, out)]
    start = 0
    for x in parts:
        target = out.narrow(dim, start, x.shape[dim])
        start += x.shape[dim]
        n = x.numel()
        if n > 0:
            copy_into[(triton.cdiv(n, 1024),)](_bytes(x), _bytes(target), n, tuple(x.shape), tuple(x.stride()),
                                               tuple(target.stride()), BLOCK=1024)
    return out


def _parts(tensors):
    kept = [t for t in tensors if not (t.dim() == 1 and t.shape[0] == 0)]
    return kept or tensors[:1]


def cat(tensors, dim=0):
    parts = _parts(tensors)
    shape = list(parts[0].shape)
    shape[dim] = sum(t.shape[dim] for t in parts)
    dtype = functools.reduce(torch.promote_types, [t.dtype for t in tensors])
    return _fill(parts, dim, torch.empty(shape, dtype=dtype, device=parts[0].device))


def cat_out(tensors, dim=0, *, out):
    return _fill(_parts(tensors), dim, out)
