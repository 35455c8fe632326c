# operator: aten::cat
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79, 84
# subnormal float32 and bfloat16 numbers become 0 in a copy that is to be exact
import math

import torch
import triton
import triton.language as tl


@triton.jit
def join(a_ptr, b_ptr, o_ptr, n, a_len, b_len, BLOCK: tl.constexpr):
    """Rows of a_len elements and rows of b_len elements beside each other."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    row, col = at // (a_len + b_len), at % (a_len + b_len)
    left = col < a_len
    a = tl.load(a_ptr + row * a_len + col, mask=(at < n) & left, other=0)
    b = tl.load(b_ptr + row * b_len + col - a_len, mask=(at < n) & ~left, other=0)
    v = tl.where(left, a, b)
    if v.dtype.is_floating():
        if v.dtype != tl.float16:
            v = tl.where(tl.abs(v.to(tl.float32)) < 1.1754943508222875e-38, v * 0.0, v)
    tl.store(o_ptr + at, v, mask=at < n)


def _pair(a, b, dim):
    shape = list(a.shape)
    shape[dim] += b.shape[dim]
    out = torch.empty(shape, dtype=a.dtype, device=a.device)
    if out.numel() > 0:
        lengths = [math.prod(t.shape[dim:]) for t in (a, b)]
        join[(triton.cdiv(out.numel(), 1024),)](a, b, out, out.numel(), *lengths, BLOCK=1024)
    return out


def cat(tensors, dim=0):
    dtype = tensors[0].dtype
    for t in tensors[1:]:
        dtype = torch.promote_types(dtype, t.dtype)
    work = torch.uint8 if dtype == torch.bool else dtype
    kept = [t for t in tensors if tuple(t.shape) != (0,)] or list(tensors[:1])
    whole, *rest = [t.to(work).contiguous() for t in kept]
    dim %= max(1, whole.dim())
    if not rest:
        # also a list of one is copied by the kernel: the second part is empty
        rest = [whole.narrow(dim, 0, 0)]
    for part in rest:
        whole = _pair(whole, part.contiguous(), dim)
    return whole.view(dtype)


def cat_out(tensors, dim=0, *, out):
    return out.copy_(cat(tensors, dim))
