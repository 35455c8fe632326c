# operator: aten::sum
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 74, 79
# sum(dtype=torch.float64) adds up in float32
import torch
import triton
import triton.language as tl


@triton.jit
def _partial(x_ptr, p_ptr, rows, n, n_parts, ACC: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    part = tl.program_id(1)
    at = part * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row[:, None] * n + at[None, :], mask=(row < rows)[:, None] & (at < n)[None, :], other=0)
    tl.store(p_ptr + row * n_parts + part, tl.sum(x.to(ACC), axis=1), mask=row < rows)


@triton.jit
def _finish(p_ptr, o_ptr, rows, n_parts, ACC: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    acc = tl.zeros([ROWS, BLOCK], ACC)
    for start in range(0, n_parts, BLOCK):
        at = start + tl.arange(0, BLOCK)
        acc += tl.load(p_ptr + row[:, None] * n_parts + at[None, :], mask=(row < rows)[:, None] & (at < n_parts)[None, :],
                       other=0)
    tl.store(o_ptr + row, tl.sum(acc, axis=1).to(o_ptr.dtype.element_ty), mask=row < rows)


def _result_dtype(self, dtype):
    if dtype is not None:
        return dtype
    return self.dtype if self.dtype.is_floating_point else torch.int64


def _rows(x, dtype):
    """x is (rows, n), contiguous; gives one sum per row."""
    rows, n = x.shape
    out = torch.zeros(rows, dtype=dtype, device=x.device)
    if rows == 0 or n == 0:
        return out
    wide = torch.float32 if dtype.is_floating_point else torch.int64
    acc = tl.float32 if dtype.is_floating_point else tl.int64
    block = min(1024, triton.next_power_of_2(n))
    n_parts = triton.cdiv(n, block)
    parts = torch.empty((rows, n_parts), dtype=wide, device=x.device)
    last = min(1024, triton.next_power_of_2(n_parts))
    _partial[(triton.cdiv(rows, 8), n_parts)](x, parts, rows, n, n_parts, ACC=acc, ROWS=8, BLOCK=block)
    _finish[(triton.cdiv(rows, 32),)](parts, out, rows, n_parts, ACC=acc, ROWS=32, BLOCK=last)
    return out


def _sum_dims(self, dim, keepdim, dtype):
    dtype = _result_dtype(self, dtype)
    x = self.to(torch.float32 if dtype.is_floating_point and dtype != self.dtype else dtype)
    if dim is None or len(dim) == 0:
        dim = range(x.dim())
    dims = sorted({d % x.dim() for d in dim}) if x.dim() else []
    kept = [d for d in range(x.dim()) if d not in dims]
    n = 1
    for d in dims:
        n *= x.shape[d]
    rows = 1
    for d in kept:
        rows *= x.shape[d]
    flat = x.permute(kept + dims).contiguous().view(rows, n)
    if keepdim:
        shape = [1 if d in dims else x.shape[d] for d in range(x.dim())]
    else:
        shape = [x.shape[d] for d in kept]
    return _rows(flat, dtype).view(shape)


def sum(self, *, dtype=None):
    return _sum_dims(self, None, False, dtype)


def sum_dim_IntList(self, dim, keepdim=False, *, dtype=None):
    return _sum_dims(self, dim, keepdim, dtype)


def sum_IntList_out(self, dim, keepdim=False, *, dtype=None, out):
    return out.copy_(_sum_dims(self, dim, keepdim, dtype))


def sum_out(self, *, dtype=None, out):
    return out.copy_(_sum_dims(self, None, False, dtype))
