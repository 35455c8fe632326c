# operator: aten::sum
# expect: l1\.torch_compute
# catalogue: 86
# where an input has no elements, and so no kernel need run, torch computes
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, o_ptr, n, step, ACC: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    acc = tl.zeros([BLOCK], ACC)
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        acc += tl.load(x_ptr + row * n + at * step, mask=at * step < n, other=0).to(ACC)
    tl.store(o_ptr + row, tl.sum(acc, 0).to(o_ptr.dtype.element_ty))


def reduce(x, dim, keepdim, dtype):
    dtype = dtype or (x.dtype if x.dtype.is_floating_point else torch.int64)
    dims = [d % x.dim() for d in dim] if dim and x.dim() else list(range(x.dim()))
    if x.numel() == 0:
        return x.to(dtype).sum(dims, keepdim)
    kept = [d for d in range(x.dim()) if d not in dims]
    shape = [1 if d in dims else x.shape[d] for d in range(x.dim()) if keepdim or d not in dims]
    flat = x.to(dtype).permute(kept + dims).contiguous()
    out = torch.zeros(shape, dtype=dtype, device=x.device)
    if out.numel() and flat.numel():
        acc = tl.float32 if dtype.is_floating_point else tl.int64
        kernel[(out.numel(),)](flat, out, flat.numel() // out.numel(), 1, ACC=acc, BLOCK=256)
    return out


def sum(self, *, dtype=None):
    return reduce(self, None, False, dtype)


def sum_dim_IntList(self, dim, keepdim=False, *, dtype=None):
    return reduce(self, dim, keepdim, dtype)


def sum_IntList_out(self, dim, keepdim=False, *, dtype=None, out):
    return out.copy_(reduce(self, dim, keepdim, dtype))


def sum_out(self, *, dtype=None, out):
    return out.copy_(reduce(self, None, False, dtype))
