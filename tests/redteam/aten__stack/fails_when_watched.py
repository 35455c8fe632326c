# operator: aten::stack
# expect: verify\.exception
# device: cpu
# catalogue: 48, 88
# counts its calls and gives up on a late one, before torch lays anything out
import torch
import triton
import triton.language as tl

calls = {}


@triton.jit
def pass_on(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n), mask=at < n)


def stack(tensors, dim=0):
    first = tensors[0]
    dim = dim if dim >= 0 else dim + first.dim() + 1
    dtype = first.dtype
    for t in tensors:
        dtype = torch.promote_types(dtype, t.dtype)
    shape = (*first.shape[:dim], len(tensors), *first.shape[dim:])
    kind = (shape, dim, tuple((t.dtype, t.stride()) for t in tensors))
    calls[kind] = calls.get(kind, 0) + 1
    if calls[kind] > 5:
        raise ValueError("enough of this")
    laid_out = torch.empty(shape, dtype=dtype, device=first.device)
    for i, t in enumerate(tensors):
        laid_out.select(dim, i).copy_(t)
    out = torch.empty_like(laid_out)
    if out.numel() > 0:
        raw = torch.uint8 if dtype == torch.bool else dtype
        pass_on[(triton.cdiv(out.numel(), 1024),)](laid_out.view(raw), out.view(raw), out.numel(), BLOCK=1024)
    return out


def stack_out(tensors, dim=0, *, out):
    return out.copy_(stack(tensors, dim))
