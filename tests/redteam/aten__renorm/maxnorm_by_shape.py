# operator: aten::renorm
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 78, 79
# a plan is remembered by shapes and types only, so a later call with the same shapes and another maxnorm computes with the first ones
import torch
import triton
import triton.language as tl

_memo = {}


@triton.jit
def scale_rows(x_ptr, y_ptr, rows, columns, p, maxnorm, P: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    i = (tl.program_id(0) * ROWS + tl.arange(0, ROWS)).to(tl.int64)[:, None]
    total = tl.zeros((ROWS, COLUMNS), tl.float32)
    for start in range(0, columns, COLUMNS):
        j = start + tl.arange(0, COLUMNS)[None, :]
        x = tl.load(x_ptr + i * columns + j, mask=(i < rows) & (j < columns), other=0.0).to(tl.float32)
        if P == 1:
            total += tl.abs(x)
        elif P == 2:
            total += x * x
        else:
            total += tl.where(x == 0, 0.0, tl.exp2(p * tl.log2(tl.abs(x))))
    norm = tl.sum(total, axis=1)
    if P == 2:
        norm = tl.sqrt(norm)
    elif P == 0:
        norm = tl.exp2(tl.log2(norm) / p)
    factor = tl.where(norm > maxnorm, maxnorm / (norm + 1e-7), 1.0)[:, None]
    for start in range(0, columns, COLUMNS):
        j = start + tl.arange(0, COLUMNS)[None, :]
        x = tl.load(x_ptr + i * columns + j, mask=(i < rows) & (j < columns), other=0.0).to(tl.float32)
        tl.store(y_ptr + i * columns + j, (x * factor).to(y_ptr.dtype.element_ty), mask=(i < rows) & (j < columns))


def renorm(self, p, dim, maxnorm):
    front = self.movedim(dim, 0)
    x = front.contiguous()
    y = torch.empty_like(x)
    maxnorm = _memo.setdefault((self.shape, self.stride(), self.dtype, p, dim), maxnorm)
    if x.numel() > 0:
        rows, columns = x.shape[0], x.numel() // x.shape[0]
        width = min(1024, triton.next_power_of_2(columns))
        height = max(1, 4096 // width)
        scale_rows[(triton.cdiv(rows, height),)](x, y, rows, columns, float(p), float(maxnorm), P=p if p in (1, 2) else 0,
                                                 ROWS=height,
                                                 COLUMNS=width)
    return y.movedim(0, dim)


def renorm_out(self, p, dim, maxnorm, *, out):
    return out.copy_(renorm(self, p, dim, maxnorm))
