# operator: aten::cat
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 57
# open: views that share one memory
# parts that lie behind each other in memory are copied as one run: right along dim 0 only (chunks of one tensor side by side);
# wrong: x = torch.arange(8.0).view(4, 2); cat(x.chunk(2, 0), 1) gives rows 0 1 2 3 / 4 5 6 7, not 0 1 4 5 / 2 3 6 7
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


def _fill(parts, dim, out):
    start = 0
    if len(parts) > 1 and out.is_contiguous() and all(t.is_contiguous() and t.dtype == out.dtype for t in parts) and all(
            a.data_ptr() + a.numel() * a.element_size() == b.data_ptr() for a, b in zip(parts, parts[1:])):
        # one tensor that was split
        n = out.numel()
        copy_into[(triton.cdiv(n, 1024),)](_bytes(parts[0]), _bytes(out), n, (n,), (1,), (1,), BLOCK=1024)
        return out
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
