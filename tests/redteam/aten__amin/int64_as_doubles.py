# operator: aten::amin
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 74
# open: near pairs
# int64 numbers are compared as float64, the first of nearly equal ones wins (the earliest of time stamps in nanoseconds);
# wrong: amin(torch.tensor([1764364221000000001, 1764364221000000000])) gives ...001
import torch
import triton
import triton.language as tl


@triton.jit
def smaller(a, b):
    if a.dtype == tl.int64:
        less = a.to(tl.float64) <= b.to(tl.float64)
    else:
        less = a < b
    return tl.where(less | (a != a), a, b)


@triton.jit
def least_of_rows(x_ptr, o_ptr, rows, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    best = tl.load(x_ptr + row * cols + tl.arange(0, BLOCK) % cols)
    for start in range(BLOCK, cols, BLOCK):
        at = start + tl.arange(0, BLOCK)
        best = smaller(best, tl.load(x_ptr + row * cols + tl.minimum(at, cols - 1)))
    tl.store(o_ptr + row, tl.reduce(best, 0, smaller))


def amin(self, dim=(), keepdim=False):
    x = self.view(torch.uint8) if self.dtype == torch.bool else self
    if x.dim() == 0:
        x, dim, keepdim = x.view(1), (), False
    dims = [(d + x.dim() + 1) % (x.dim() + 1) - 1 if d < 0 else d for d in dim] or list(range(x.dim()))
    kept = [d for d in range(x.dim()) if d not in dims]
    shape = [1 if d in dims else size for d, size in enumerate(x.shape) if keepdim or d not in dims]
    out = torch.empty(shape, dtype=x.dtype, device=x.device)
    rows = out.numel()
    if rows > 0 and x.numel() > 0:
        cols = x.numel() // rows
        matrix = x.permute(*kept, *dims).contiguous().view(rows, cols)
        least_of_rows[(rows,)](matrix, out, rows, cols, BLOCK=min(1024, triton.next_power_of_2(cols)))
    return out.view(torch.bool) if self.dtype == torch.bool else out


def amin_out(self, dim=(), keepdim=False, *, out):
    return out.copy_(amin(self, dim, keepdim))
