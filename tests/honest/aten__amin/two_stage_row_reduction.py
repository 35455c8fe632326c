# operator: aten::amin
# style: two-stage row reduction, propagate_nan, host side canonicalisation of dims
import torch
import triton
import triton.language as tl


@triton.jit
def _smaller(a, b):
    return tl.minimum(a, b, propagate_nan=tl.PropagateNan.ALL)


@triton.jit
def _smaller_int(a, b):
    return tl.minimum(a, b)


@triton.jit
def amin_rows(x_ptr, out_ptr, rows, cols, chunk, out_cols, IS_FLOAT: tl.constexpr, R: tl.constexpr, C: tl.constexpr):
    """out[row, part] = min(x[row, part * chunk : (part + 1) * chunk]).

    Places behind the end repeat the last element of the chunk, so no neutral element is needed."""
    row = tl.program_id(0).to(tl.int64) * R + tl.arange(0, R)
    part = tl.program_id(1).to(tl.int64)
    row_in = tl.minimum(row, rows - 1)[:, None] * cols
    begin = part * chunk
    last = tl.minimum(begin + chunk, cols) - 1
    at = tl.minimum(begin + tl.arange(0, C), last)[None, :]
    best = tl.load(x_ptr + row_in + at)
    if IS_FLOAT:
        best = best.to(tl.float32)
    for c in range(C, chunk, C):
        at = tl.minimum(begin + c + tl.arange(0, C), last)[None, :]
        x = tl.load(x_ptr + row_in + at)
        if IS_FLOAT:
            best = tl.minimum(best, x.to(tl.float32), propagate_nan=tl.PropagateNan.ALL)
        else:
            best = tl.minimum(best, x)
    if IS_FLOAT:
        result = tl.reduce(best, 1, _smaller)
    else:
        result = tl.reduce(best, 1, _smaller_int)
    tl.store(out_ptr + row * out_cols + part, result.to(out_ptr.dtype.element_ty), mask=row < rows)


def _reduce(x, out, rows, cols, parts, is_float):
    chunk = triton.cdiv(cols, parts)
    C = min(512, triton.next_power_of_2(chunk))
    R = 4 if rows > 1 else 1
    amin_rows[(triton.cdiv(rows, R), parts)](x, out, rows, cols, chunk, parts, IS_FLOAT=is_float, R=R, C=C)


def _amin(self, dim, keepdim):
    nd = self.dim()
    dims = sorted({d % max(nd, 1) for d in dim}) if len(dim) else list(range(nd))
    x = self.detach()
    if x.dtype == torch.bool:
        x = x.view(torch.uint8)
    kept = [d for d in range(nd) if d not in dims]
    kept_shape = [self.shape[d] for d in kept]
    rows = cols = 1
    for d in kept:
        rows *= self.shape[d]
    if nd:
        for d in dims:
            cols *= self.shape[d]
        x = x.permute(kept + dims)
    x = x.contiguous()
    out = torch.empty(kept_shape, dtype=x.dtype, device=x.device)
    if rows:
        is_float = x.is_floating_point()
        if cols > 4096 and rows < 64:
            parts = triton.cdiv(cols, 1024)
            parts = triton.cdiv(cols, triton.cdiv(cols, parts))      # no part is empty
            middle = torch.empty((rows, parts), dtype=x.dtype, device=x.device)
            _reduce(x, middle, rows, cols, parts, is_float)
            _reduce(middle, out, rows, parts, 1, is_float)
        else:
            _reduce(x, out, rows, cols, 1, is_float)
    if self.dtype == torch.bool:
        out = out.view(torch.bool)
    if keepdim:
        out = out.view([1 if d in dims else self.shape[d] for d in range(nd)])
    return out


def amin(self, dim=[], keepdim=False):
    return _amin(self, dim, keepdim)


def amin_out(self, dim=[], keepdim=False, *, out):
    out.copy_(_amin(self, dim, keepdim))
    return out
