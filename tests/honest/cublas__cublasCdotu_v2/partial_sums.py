# operator: cublas::cublasCdotu_v2
# style: sums of blocks go to a buffer, a second kernel adds them up in a fixed order: the same bits every time
import torch
import triton
import triton.language as tl


@triton.jit
def dot(n, x_ptr, x_first, incx, y_ptr, y_first, incy, parts_ptr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    xs = x_ptr + 2 * (x_first + i * incx)
    ys = y_ptr + 2 * (y_first + i * incy)
    a = tl.load(xs, mask=i < n, other=0.0)
    b = tl.load(xs + 1, mask=i < n, other=0.0)
    c = tl.load(ys, mask=i < n, other=0.0)
    d = tl.load(ys + 1, mask=i < n, other=0.0)
    tl.store(parts_ptr + 2 * tl.program_id(0), tl.sum(a * c - b * d, axis=0))
    tl.store(parts_ptr + 2 * tl.program_id(0) + 1, tl.sum(a * d + b * c, axis=0))


@triton.jit
def add_up(parts_ptr, n_parts, out_ptr, BLOCK: tl.constexpr):
    which = tl.program_id(0)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, n_parts, BLOCK):
        i = start + tl.arange(0, BLOCK)
        total += tl.load(parts_ptr + 2 * i + which, mask=i < n_parts, other=0.0)
    tl.store(out_ptr + which, tl.sum(total, axis=0))


def first(n, inc):
    """Where element 0 of a vector lies."""
    return (1 - n) * inc if inc < 0 else 0


def cublasCdotu_v2(n, x, incx, y, incy, result):
    n_parts = triton.cdiv(n, 1024)
    parts = torch.empty((n_parts, 2), dtype=torch.float32, device=x.device)
    if n > 0:
        dot[(n_parts,)](n, torch.view_as_real(x), first(n, incx), incx, torch.view_as_real(y), first(n, incy), incy, parts,
                        BLOCK=1024)
    add_up[(2,)](parts, n_parts, torch.view_as_real(result), BLOCK=256)
    return result
