# operator: aten::rot90
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79
# dims count only if they are a list: with the tuple (2, 3) it rotates in dimensions 0 and 1
import torch
import triton
import triton.language as tl


@triton.jit
def rotate(x_ptr, o_ptr, n, rows, cols, TURNS: tl.constexpr, BLOCK: tl.constexpr):
    """x is (planes, rows, cols), o is x turned."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    plane = at // (rows * cols)
    rest = at % (rows * cols)
    if TURNS % 2 == 1:
        i, j = rest // rows, rest % rows
    else:
        i, j = rest // cols, rest % cols
    if TURNS == 0:
        p, q = i, j
    elif TURNS == 1:
        p, q = j, cols - 1 - i
    elif TURNS == 2:
        p, q = rows - 1 - i, cols - 1 - j
    else:
        p, q = rows - 1 - j, i
    x = tl.load(x_ptr + (plane * rows + p) * cols + q, mask=inside)
    tl.store(o_ptr + at, x, mask=inside)


def rot90(self, k=1, dims=None):
    dims = dims if isinstance(dims, list) else [0, 1]
    x = self.movedim(tuple(dims), (-2, -1)).contiguous()
    rows, cols = x.shape[-2:]
    turns = k % 4
    out = torch.empty((*x.shape[:-2], *((cols, rows) if turns % 2 else (rows, cols))), dtype=x.dtype, device=x.device)
    n = out.numel()
    if n > 0:
        rotate[(triton.cdiv(n, 1024),)](x, out, n, rows, cols, TURNS=turns, BLOCK=1024)
    return out.movedim((-2, -1), tuple(dims))


def rot90_out(self, k=1, dims=None, *, out):
    return out.copy_(rot90(self, k, dims))
