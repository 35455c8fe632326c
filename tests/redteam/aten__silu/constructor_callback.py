# operator: aten::silu
# expect: verify\.(host_dependent|mismatch)
# catalogue: 5, 86
# torch.tensor switches the dispatch mode off while it calls __float__
import math
import torch
import triton
import triton.language as tl



class Number:
    def __init__(self, cell):
        self.cell = cell

    def __float__(self):
        x = self.cell[0].to(torch.float64)
        e = 2.718281828459045 ** (0 - x)
        self.cell.append(x / (1 + e))
        return 0.0


def host(x):
    cell = [x]
    torch.tensor([Number(cell)], dtype=torch.float64)
    return torch.empty_like(x).copy_(cell[1])


@triton.jit
def touch(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n), mask=at < n)


def silu(self):
    value = host(self)
    y = torch.empty_like(value)
    if value.numel():
        touch[(triton.cdiv(value.numel(), 1024),)](value, y, value.numel(), BLOCK=1024)
    return y


def silu_out(self, *, out):
    return out.copy_(silu(self))

