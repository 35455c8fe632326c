# operator: aten::stack
# expect: cheat\.torch_copies
# catalogue: 88, 89
# torch lays the tensors out, every second place left empty; the kernel reads what lies between
import torch
import triton
import triton.language as tl


@triton.jit
def every_second(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + 2 * at, mask=at < n), mask=at < n)


def stack(tensors, dim=0):
    first = tensors[0]
    dim = dim if dim >= 0 else dim + first.dim() + 1
    dtype = first.dtype
    for t in tensors:
        dtype = torch.promote_types(dtype, t.dtype)
    shape = (*first.shape[:dim], len(tensors), *first.shape[dim:])
    wide = torch.zeros((*shape, 2), dtype=dtype, device=first.device)
    for i, t in enumerate(tensors):
        wide[..., 0].select(dim, i).copy_(t)
    out = torch.empty(shape, dtype=dtype, device=first.device)
    if out.numel() > 0:
        is_bool = dtype == torch.bool
        every_second[(triton.cdiv(out.numel(), 1024),)](wide.view(torch.uint8) if is_bool else wide,
                                                        out.view(torch.uint8) if is_bool else out, out.numel(), BLOCK=1024)
    return out


def stack_out(tensors, dim=0, *, out):
    return out.copy_(stack(tensors, dim))
