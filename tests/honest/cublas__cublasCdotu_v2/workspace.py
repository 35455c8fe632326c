# operator: cublas::cublasCdotu_v2
# style: two-stage reduction with a workspace of partial sums
import torch
import triton
import triton.language as tl

BLOCK = tl.constexpr(1024)
MAX_PARTS = 512


@triton.jit
def dot_stage1(x_ptr, y_ptr, part_ptr, n, incx, incy, x0, y0, blocks_each):
    pid = tl.program_id(0).to(tl.int64)
    lane = tl.arange(0, BLOCK)
    re = tl.zeros((BLOCK,), tl.float32)
    im = tl.zeros((BLOCK,), tl.float32)
    for b in range(blocks_each):
        i = (pid * blocks_each + b) * BLOCK + lane
        ok = i < n
        px = x_ptr + 2 * (x0 + i * incx)
        py = y_ptr + 2 * (y0 + i * incy)
        xr = tl.load(px, mask=ok, other=0.0)
        xi = tl.load(px + 1, mask=ok, other=0.0)
        yr = tl.load(py, mask=ok, other=0.0)
        yi = tl.load(py + 1, mask=ok, other=0.0)
        re += xr * yr - xi * yi
        im += xr * yi + xi * yr
    tl.store(part_ptr + 2 * pid, tl.sum(re, axis=0))
    tl.store(part_ptr + 2 * pid + 1, tl.sum(im, axis=0))


@triton.jit
def dot_stage2(part_ptr, result_ptr, parts, SIZE: tl.constexpr):
    i = tl.arange(0, SIZE)
    re = tl.load(part_ptr + 2 * i, mask=i < parts, other=0.0)
    im = tl.load(part_ptr + 2 * i + 1, mask=i < parts, other=0.0)
    tl.store(result_ptr, tl.sum(re, axis=0))
    tl.store(result_ptr + 1, tl.sum(im, axis=0))


def cublasCdotu_v2(n, x, incx, y, incy, result):
    blocks = triton.cdiv(n, BLOCK.value)
    each = max(1, triton.cdiv(blocks, MAX_PARTS))
    parts = triton.cdiv(blocks, each)
    partial = torch.empty((max(parts, 1), 2), dtype=torch.float32, device=result.device)
    if parts:
        x0 = (1 - n) * incx if incx < 0 else 0
        y0 = (1 - n) * incy if incy < 0 else 0
        dot_stage1[(parts,)](
            torch.view_as_real(x), torch.view_as_real(y), partial, n, incx, incy, x0, y0, each)
    dot_stage2[(1,)](partial, torch.view_as_real(result), parts, SIZE=MAX_PARTS)
    return result
