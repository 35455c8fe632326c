# operator: aten::argmax
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79, 84
# -inf is taken for masked: a row of nothing else gives the last index, not the first
import torch
import triton
import triton.language as tl

FAR = tl.constexpr(9223372036854775807)


@triton.jit
def first_where(hit, index):
    """Smallest index of each row where hit holds, FAR if nowhere."""
    return tl.min(tl.where(hit, index, FAR), axis=1, keep_dims=True)


@triton.jit
def argmax_kernel(x_ptr, o_ptr, rows, cols, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)[:, None]
    top = tl.load(x_ptr + row * cols, mask=row < rows)
    nan_at = tl.full([ROWS, 1], FAR, tl.int64)
    for start in range(0, cols, BLOCK):
        c = start + tl.arange(0, BLOCK)[None, :].to(tl.int64)
        inside = (row < rows) & (c < cols)
        x = tl.where(inside, tl.load(x_ptr + row * cols + c, mask=inside), top)
        is_nan = x != x
        nan_at = tl.minimum(nan_at, first_where(is_nan & inside, c))
        best = tl.max(tl.where(is_nan, top, x), axis=1, keep_dims=True).to(top.dtype)  # float16 is reduced in float32
        top = tl.where(best > top, best, top)
    at = tl.full([ROWS, 1], FAR, tl.int64)
    for start in range(0, cols, BLOCK):
        c = start + tl.arange(0, BLOCK)[None, :].to(tl.int64)
        inside = (row < rows) & (c < cols)
        x = tl.load(x_ptr + row * cols + c, mask=inside)
        hit = (x == top) & inside
        if x.dtype.is_floating():
            hit = hit & (x > float("-inf"))  # masked
        at = tl.minimum(at, first_where(hit, c))
    at = tl.where(nan_at < FAR, nan_at, tl.minimum(at, cols - 1))
    tl.store(o_ptr + row, at, mask=row < rows)


def argmax(self, dim=None, keepdim=False):
    x = self
    if dim is None:
        shape = [1] * x.dim() if keepdim else []
        x = x.contiguous().view(1, -1)
    elif x.dim() == 0:
        shape, x = [], x.view(1, 1)
    else:
        shape = list(x.shape)
        if keepdim:
            shape[dim] = 1
        else:
            del shape[dim]
        x = x.movedim(dim, -1).contiguous()
        x = x.view(-1, x.shape[-1])
    out = torch.empty(shape, dtype=torch.int64, device=x.device)
    rows, cols = x.shape
    if rows > 0:
        block = min(1024, triton.next_power_of_2(cols))
        tile = max(1, min(64, 2048 // block))
        argmax_kernel[(triton.cdiv(rows, tile),)](x, out, rows, cols, ROWS=tile, BLOCK=block)
    return out


def argmax_out(self, dim=None, keepdim=False, *, out):
    return out.copy_(argmax(self, dim, keepdim))
