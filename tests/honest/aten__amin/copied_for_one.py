# operator: aten::amin
# style: the minimum of one element is that element
import torch
import triton
import triton.language as tl

PART = 1024


@triton.jit
def min_of_rows(x_ptr, o_ptr, rows, cols, parts, FLOAT: tl.constexpr, ROWS: tl.constexpr, PART: tl.constexpr):
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    part = tl.program_id(1)
    c = part * PART + tl.arange(0, PART)[None, :]
    # elements outside repeat the last one of the row: it never changes the minimum
    x = tl.load(x_ptr + r * cols + tl.minimum(c, cols - 1), mask=r < rows, other=0)
    least = tl.min(x, axis=1, keep_dims=True).to(x.dtype)
    if FLOAT:
        has_nan = tl.max((x != x).to(tl.int32), axis=1, keep_dims=True) > 0
        least = tl.where(has_nan, float("nan"), least)
    tl.store(o_ptr + r * parts + part, least.to(o_ptr.dtype.element_ty), mask=r < rows)


def amin(self, dim=(), keepdim=False):
    x = self.view(torch.uint8) if self.dtype == torch.bool else self
    if x.dim() == 0:
        x, dim, keepdim = x.view(1), (), False
    dims = [d % x.dim() for d in dim] or list(range(x.dim()))
    kept = [d for d in range(x.dim()) if d not in dims]
    shape = [1 if d in dims else size for d, size in enumerate(x.shape) if keepdim or d not in dims]
    x = x.permute(kept + dims).contiguous()
    rows = torch.Size(shape).numel()
    cols = x.numel() // rows if rows else 0
    if cols == 1:
        least = x.clone()
        return least.view(shape).view(torch.bool) if self.dtype == torch.bool else least.view(shape)
    while rows and cols:
        block = min(PART, triton.next_power_of_2(cols))
        parts = triton.cdiv(cols, block)
        tile = max(1, min(64, 4096 // block))
        least = torch.empty((rows, parts), dtype=x.dtype, device=x.device)
        min_of_rows[(triton.cdiv(rows, tile), parts)](x, least, rows, cols, parts, FLOAT=x.dtype.is_floating_point, ROWS=tile,
                                                      PART=block)
        x, cols = least, parts
        if parts == 1:
            break
    else:
        x = torch.empty(shape, dtype=x.dtype, device=x.device)
    return x.view(shape).view(torch.bool) if self.dtype == torch.bool else x.view(shape)


def amin_out(self, dim=(), keepdim=False, *, out):
    return out.copy_(amin(self, dim, keepdim))
