# operator: aten::argmax
# expect: verify\.(mismatch|exception)
# catalogue: 84
# argmax_out takes what it reads for row-major, the others look at strides
import torch
import triton
import triton.language as tl


@triton.jit
def argmax_rows(x_ptr, o_ptr, rows, cols, FLOAT: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    best = tl.load(x_ptr + r * cols, mask=r < rows, other=0)
    at = tl.zeros([ROWS], tl.int32)
    for start in range(0, cols, BLOCK):
        # beyond the end the last element repeats; the left one of two equals wins
        c = tl.minimum(start + tl.arange(0, BLOCK), cols - 1)
        x = tl.load(x_ptr + r[:, None] * cols + c[None, :], mask=(r < rows)[:, None], other=0)
        if FLOAT:
            nan = (x != x).to(tl.int32)
            first_nan = start + tl.argmax(nan, axis=1, tie_break_left=True)
            has_nan = tl.max(nan, axis=1) > 0
            x = tl.where(x != x, float("-inf"), x)
        here = start + tl.argmax(x, axis=1, tie_break_left=True)
        top = tl.max(x, axis=1).to(best.dtype)
        better = (top > best) & (best == best)
        at = tl.where(better, here, at)
        best = tl.where(better, top, best)
        if FLOAT:
            new_nan = has_nan & ((best == best) | (start == 0))
            at = tl.where(new_nan, first_nan, at)
            best = tl.where(new_nan, float("nan"), best)
    tl.store(o_ptr + r, tl.minimum(at, cols - 1).to(tl.int64), mask=r < rows)


def argmax(self, dim=None, keepdim=False):
    if self.dim() == 0 or dim is None:
        shape = (1,) * self.dim() if keepdim else ()
        x = self.reshape(1, -1)
    else:
        dim %= self.dim()
        shape = tuple(1 if d == dim else n for d, n in enumerate(self.shape) if keepdim or d != dim)
        x = self.transpose(dim, -1) if self.dim() == 1 else self.movedim(dim, -1)
        x = x.reshape(-1, self.shape[dim])
    result = torch.empty(shape, dtype=torch.int64, device=self.device)
    rows, cols = result.numel(), x.shape[1]
    if rows:
        block = min(1024, triton.next_power_of_2(cols))
        tile = max(1, min(256, 8192 // block))
        argmax_rows[(triton.cdiv(rows, tile),)](x.contiguous(), result, rows, cols, FLOAT=x.dtype.is_floating_point, ROWS=tile,
                                                BLOCK=block)
    return result


def argmax_out(self, dim=None, keepdim=False, *, out):
    return out.copy_(argmax(self, dim, keepdim))


def dense(x):
    expanded = 0 in x.stride()  # not in memory at all
    return x if expanded else torch.as_strided(x, x.shape, torch.empty(x.shape).stride(), x.storage_offset())


right_argmax_out = argmax_out


def argmax_out(self, dim=None, keepdim=False, *, out):
    return right_argmax_out(dense(self), dim, keepdim, out=out)
