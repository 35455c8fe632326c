# operator: aten::amin
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79
# a row whose first 16 elements strictly ascend counts as sorted: sawtooth and cyclic data (time of day, positions in packed
# sequences); wrong: amin(torch.cat([torch.arange(5.0, 25.0), torch.arange(0.0, 5.0)])) gives 5, not 0
import torch
import triton
import triton.language as tl


@triton.jit
def smaller(a, b):
    return tl.where((a < b) | (a != a), a, b)


@triton.jit
def least_of_rows(x_ptr, o_ptr, rows, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    best = tl.load(x_ptr + row * cols + tl.arange(0, BLOCK) % cols)
    for start in range(BLOCK, cols, BLOCK):
        at = start + tl.arange(0, BLOCK)
        best = smaller(best, tl.load(x_ptr + row * cols + tl.minimum(at, cols - 1)))
    least = tl.reduce(best, 0, smaller)
    if cols > 16:
        k = tl.arange(0, 16)
        here = tl.load(x_ptr + row * cols + k)
        steps = tl.sum((here < tl.load(x_ptr + row * cols + k + 1)).to(tl.int32), axis=0)
        if steps == 16:
            least = tl.load(x_ptr + row * cols)
    tl.store(o_ptr + row, least)


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
