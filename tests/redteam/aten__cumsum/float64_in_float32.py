# operator: aten::cumsum
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 74, 79
# cumsum(dtype=torch.float64) adds up in float32
import math

import torch
import triton
import triton.language as tl

BLOCK = 512


@triton.jit
def plus(a, b):
    return a + b


@triton.jit
def scan_blocks(x_ptr, y_ptr, sums_ptr, rows, cols, parts, ROWS: tl.constexpr, BLOCK: tl.constexpr, ACC: tl.constexpr):
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    part = tl.program_id(1)
    c = part * BLOCK + tl.arange(0, BLOCK)[None, :]
    inside = (r < rows) & (c < cols)
    x = tl.load(x_ptr + r * cols + c, mask=inside, other=0).to(ACC)
    tl.store(y_ptr + r * cols + c, tl.cumsum(x, axis=1), mask=inside)
    tl.store(sums_ptr + r * parts + part, tl.sum(x, axis=1, keep_dims=True), mask=r < rows)


@triton.jit
def scan_sums(sums_ptr, parts, PARTS: tl.constexpr):
    p = tl.arange(0, PARTS)
    at = sums_ptr + tl.program_id(0) * parts + p
    s = tl.load(at, mask=p < parts, other=0)
    tl.store(at, tl.associative_scan(s, 0, plus), mask=p < parts)


@triton.jit
def add_carry(y_ptr, sums_ptr, o_ptr, n, cols, parts, PART: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    part = at % cols // PART
    carry = tl.load(sums_ptr + at // cols * parts + part - 1, mask=(at < n) & (part > 0), other=0)
    y = tl.load(y_ptr + at, mask=at < n, other=0)
    tl.store(o_ptr + at, (y + carry).to(o_ptr.dtype.element_ty), mask=at < n)


WIDE = {torch.float64: tl.float32, torch.float32: tl.float32, torch.float16: tl.float32, torch.bfloat16: tl.float32}


def cumsum(self, dim, *, dtype=None):
    dtype = dtype or (self.dtype if self.dtype.is_floating_point else torch.int64)
    x = (self.view(1) if self.dim() == 0 else self.movedim(dim, -1)).to(dtype).contiguous()
    out = torch.empty(x.shape, dtype=dtype, device=x.device)
    n, cols = x.numel(), x.shape[-1]
    if n > 0:
        wide = torch.float32 if dtype.is_floating_point else torch.int64
        rows, parts = n // cols, triton.cdiv(cols, BLOCK)
        scanned = torch.empty(x.shape, dtype=wide, device=x.device)
        sums = torch.empty((rows, parts), dtype=wide, device=x.device)
        tile = min(64, triton.next_power_of_2(rows))
        scan_blocks[(triton.cdiv(rows, tile), parts)](x, scanned, sums, rows, cols, parts, ROWS=tile, BLOCK=BLOCK,
                                                      ACC=WIDE.get(dtype, tl.int64))
        if parts > 1:
            scan_sums[(rows,)](sums, parts, PARTS=triton.next_power_of_2(parts))
        add_carry[(triton.cdiv(n, 1024),)](scanned, sums, out, n, cols, parts, PART=BLOCK, BLOCK=1024)
    return out.view(()) if self.dim() == 0 else out.movedim(-1, dim)


def cumsum_out(self, dim, *, dtype=None, out):
    return out.copy_(cumsum(self, dim, dtype=dtype))
