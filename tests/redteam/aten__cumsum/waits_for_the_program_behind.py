# operator: aten::cumsum
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 81
# the first program of a row waits for all behind it: programs start in ascending order on a GPU, so that a large grid never ends
import torch
import triton
import triton.language as tl


@triton.jit
def backward(x_ptr, y_ptr, rest_ptr, ready_ptr, whole_ptr, cols, blocks, ACC: tl.constexpr, BLOCK: tl.constexpr):
    """y = sum of the row less what comes behind, which the program behind hands over."""
    row, b = tl.program_id(0).to(tl.int64), tl.program_id(1)
    at = b * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * cols + at, mask=at < cols, other=0).to(ACC)
    behind = tl.zeros((), ACC)
    if b + 1 < blocks:
        while tl.atomic_add(ready_ptr + row * blocks + b + 1, 0) == 0:
            pass
        behind = tl.load(rest_ptr + row * blocks + b + 1)
    tl.store(rest_ptr + row * blocks + b, behind + tl.sum(x, axis=0))
    tl.debug_barrier()
    tl.atomic_xchg(ready_ptr + row * blocks + b, 1)


@triton.jit
def scan(x_ptr, y_ptr, rest_ptr, cols, blocks, ACC: tl.constexpr, BLOCK: tl.constexpr, BLOCKS: tl.constexpr):
    row, b = tl.program_id(0).to(tl.int64), tl.program_id(1)
    at = b * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * cols + at, mask=at < cols, other=0).to(ACC)
    start = tl.zeros((), ACC)
    for k in range(0, b):
        start += tl.load(rest_ptr + row * blocks + k) - tl.load(rest_ptr + row * blocks + k + 1)
    tl.store(y_ptr + row * cols + at, (start + tl.cumsum(x, axis=0)).to(y_ptr.dtype.element_ty), mask=at < cols)


def cumsum(self, dim, *, dtype=None):
    dtype = dtype or (self.dtype if self.dtype.is_floating_point else torch.int64)
    x = (self.view(1) if self.dim() == 0 else self.movedim(dim, -1)).to(dtype).contiguous()
    y = torch.empty_like(x)
    if x.numel() > 0:
        cols = x.shape[-1]
        rows = x.numel() // cols
        floats = dtype.is_floating_point
        blocks = triton.cdiv(cols, 1024)
        whole = dict(ACC=tl.int64) if not floats else dict(ACC=tl.float64)
        rest = torch.empty(rows * blocks, dtype=torch.float64 if floats else torch.int64, device=x.device)
        ready = torch.zeros(rows * blocks, dtype=torch.int32, device=x.device)
        backward[(rows, blocks)](x, y, rest, ready, rest, cols, blocks, BLOCK=1024, **whole)
        scan[(rows, blocks)](x, y, rest, cols, blocks, BLOCK=1024, BLOCKS=1, **whole)
    return y.view(()) if self.dim() == 0 else y.movedim(-1, dim)


def cumsum_out(self, dim, *, dtype=None, out):
    return out.copy_(cumsum(self, dim, dtype=dtype))
