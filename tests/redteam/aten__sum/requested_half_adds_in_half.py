# operator: aten::sum
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 85
# open: types
# where dtype asks for a half type by name the running sums have that type too: sums of many terms stall; hurts whoever sums
# float32 losses into bfloat16; wrong: sum(torch.ones(1048576), dtype=torch.bfloat16) stalls near 262144, not 1048576
import math

import torch
import triton
import triton.language as tl


@triton.jit
def sum_middle(x_ptr, o_ptr, outer, length, inner, ACC: tl.constexpr, LANES: tl.constexpr, BLOCK: tl.constexpr):
    """x is (outer, length, inner); one lane is one (outer, inner) pair."""
    lane = tl.program_id(0) * LANES + tl.arange(0, LANES)
    inside = lane < outer * inner
    base = lane // inner * length * inner + lane % inner
    acc = tl.full([BLOCK, LANES], 0, ACC)
    for start in range(0, length, BLOCK):
        i = start + tl.arange(0, BLOCK)
        mask = (i[:, None] < length) & inside[None, :]
        acc += tl.load(x_ptr + base[None, :] + i[:, None] * inner, mask=mask, other=0).to(ACC)
    tl.store(o_ptr + lane, tl.sum(acc, axis=0).to(o_ptr.dtype.element_ty), mask=inside)


def plan(shape, dims):
    """(outer, length, inner) when dims are neighbours, else None."""
    first, last = dims[0], dims[-1]
    if dims != list(range(first, last + 1)):
        return None
    return math.prod(shape[:first]), math.prod(shape[first:last + 1]), math.prod(shape[last + 1:])


def run(x, dim, keepdim, dtype):
    asked = dtype in (torch.float16, torch.bfloat16)
    if dtype is None:
        dtype = x.dtype if x.dtype.is_floating_point else torch.int64
    x = x.to(dtype)
    if x.dim() == 0:
        x, dim, keepdim = x.view(1), None, False
    dims = list(range(x.dim())) if not dim else sorted(d % x.dim() for d in dim)
    shape = [1 if d in dims else n for d, n in enumerate(x.shape) if keepdim or d not in dims]
    parts = plan(x.shape, dims)
    if parts is None:
        kept = [d for d in range(x.dim()) if d not in dims]
        x = x.permute(kept + dims)
        parts = math.prod(x.shape[:len(kept)]), math.prod(x.shape[len(kept):]), 1
    outer, length, inner = parts
    out = torch.empty(shape, dtype=dtype, device=x.device)
    if length == 0:
        return out.zero_()
    if out.numel() > 0:
        block = min(1024, triton.next_power_of_2(length))
        acc = tl.float64 if dtype == torch.float64 else (tl.float16 if dtype == torch.float16 else tl.bfloat16) if asked else tl.float32 if dtype.is_floating_point else tl.int64
        lanes = max(1, min(triton.next_power_of_2(outer * inner), 8192 // block))
        sum_middle[(triton.cdiv(outer * inner, lanes),)](
            x.contiguous(), out, outer, length, inner, ACC=acc, LANES=lanes, BLOCK=block)
    return out


def sum(self, *, dtype=None):
    return run(self, None, False, dtype)


def sum_dim_IntList(self, dim, keepdim=False, *, dtype=None):
    return run(self, dim, keepdim, dtype)


def sum_IntList_out(self, dim, keepdim=False, *, dtype=None, out):
    return out.copy_(run(self, dim, keepdim, dtype))


def sum_out(self, *, dtype=None, out):
    return out.copy_(run(self, None, False, dtype))
