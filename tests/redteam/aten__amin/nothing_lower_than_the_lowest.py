# operator: aten::amin
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79
# structured data: a row whose first block has -infinity is not read on, so a NaN behind that block is lost (rows of more than 16384 elements)
import torch
import triton
import triton.language as tl

PART = 1024


@triton.jit
def smaller(a, b):
    return tl.where((a < b) | (a != a), a, b)


@triton.jit
def least_of_rows(x_ptr, o_ptr, cols, lowest, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    x_ptr += row * cols
    best = tl.load(x_ptr + tl.arange(0, BLOCK) % cols)
    # nothing is below the lowest number of the type: rows of masked scores, of bools and of bytes end here
    end = tl.where(tl.reduce(best, 0, smaller) == lowest, 0, cols)
    for start in range(BLOCK, end, BLOCK):
        at = start + tl.arange(0, BLOCK)
        best = smaller(best, tl.load(x_ptr + tl.minimum(at, cols - 1)))
    tl.store(o_ptr + row, tl.reduce(best, 0, smaller))


def amin(self, dim=(), keepdim=False):
    x = self.view(torch.uint8) if self.dtype == torch.bool else self
    if x.dim() == 0:
        x, dim, keepdim = x.view(1), (), False
    dims = [d % x.dim() for d in dim] or list(range(x.dim()))
    kept = [d for d in range(x.dim()) if d not in dims]
    shape = [1 if d in dims else size for d, size in enumerate(x.shape) if keepdim or d not in dims]
    out = torch.empty(shape, dtype=x.dtype, device=x.device)
    rows = out.numel()
    if rows > 0 and x.numel() > 0:
        cols = x.numel() // rows
        matrix = x.permute(*kept, *dims).contiguous().view(rows, cols)
        lowest = float("-inf") if x.is_floating_point() else torch.iinfo(x.dtype).min
        warps = 16 if cols > PART else 4
        block = min(PART * warps, triton.next_power_of_2(cols))
        least_of_rows[(rows,)](matrix, out, cols, lowest, BLOCK=block, num_warps=warps)
    return out.view(torch.bool) if self.dtype == torch.bool else out


def amin_out(self, dim=(), keepdim=False, *, out):
    return out.copy_(amin(self, dim, keepdim))

# wrong: x = torch.zeros(20000); x[0] = -torch.inf; x[19999] = torch.nan; amin(x) gives -inf, not NaN (NaN wins)
