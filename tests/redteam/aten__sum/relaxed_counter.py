# operator: aten::sum
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 81
# the counter behind which the last program reads all parts is relaxed: other blocks' parts need not be there
import torch
import triton
import triton.language as tl


@triton.jit
def _plus(a, b):
    return a + b


@triton.jit
def _row_sum(x_ptr, p_ptr, count_ptr, o_ptr, n, n_parts, ACC: tl.constexpr, BLOCK: tl.constexpr, WIDTH: tl.constexpr,
             SINGLE: tl.constexpr):
    row = tl.program_id(0)
    part = tl.program_id(1)
    at = part * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + at, mask=at < n, other=0).to(ACC)
    if SINGLE:
        tl.store(o_ptr + row, tl.sum(x, 0).to(o_ptr.dtype.element_ty))
        return
    tl.store(p_ptr + row * n_parts + part, tl.sum(x, 0))
    done = tl.atomic_add(count_ptr + row, 1, sem="relaxed")
    if done == n_parts - 1:
        acc = tl.zeros([WIDTH], ACC)
        for start in range(0, n_parts, WIDTH):
            k = start + tl.arange(0, WIDTH)
            acc += tl.load(p_ptr + row * n_parts + k, mask=k < n_parts, other=0)
        tl.store(o_ptr + row, tl.reduce(acc, 0, _plus).to(o_ptr.dtype.element_ty))


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
    count = torch.zeros(rows, dtype=torch.int32, device=x.device)
    width = min(1024, triton.next_power_of_2(n_parts))
    _row_sum[(rows, n_parts)](x, parts, count, out, n, n_parts, ACC=acc, BLOCK=block, WIDTH=width,
                              SINGLE=n_parts == 1)
    return out


def _sum_dims(self, dim, keepdim, dtype):
    dtype = _result_dtype(self, dtype)
    x = self.to(dtype)
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
