# operator: cublas::cublasSdot_v2
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 81
# the last sum is a tree through global memory without barriers: a race of warps within a program on a GPU
import torch
import triton
import triton.language as tl


@triton.jit
def partial(n, x_ptr, x_first, incx, y_ptr, y_first, incy, out_ptr, BLOCK: tl.constexpr, ROUNDS: tl.constexpr):
    acc = tl.zeros((BLOCK,), tl.float32)
    start = tl.program_id(0) * BLOCK * ROUNDS
    for r in range(ROUNDS):
        i = start + r * BLOCK + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + x_first + i * incx, mask=i < n, other=0.0)
        y = tl.load(y_ptr + y_first + i * incy, mask=i < n, other=0.0)
        acc += x * y
    tl.store(out_ptr + tl.program_id(0), tl.sum(acc, axis=0))


@triton.jit
def total(parts_ptr, n, out_ptr, work_ptr, BLOCK: tl.constexpr):
    acc = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        acc += tl.load(parts_ptr + i, mask=i < n, other=0.0)
    lane = tl.arange(0, BLOCK)
    for step in tl.static_range(9):
        tl.store(work_ptr + step * BLOCK + lane, acc)
        acc += tl.load(work_ptr + step * BLOCK + (lane ^ (1 << step)))
    tl.store(out_ptr + lane, acc, mask=lane < 1)


def first(n, inc):
    return (1 - n) * inc if inc < 0 else 0


def cublasSdot_v2(n, x, incx, y, incy, result):
    n_parts = max(1, triton.cdiv(n, 2048))
    parts = torch.empty(n_parts, dtype=torch.float32, device=x.device)
    partial[(n_parts,)](n, x, first(n, incx), incx, y, first(n, incy), incy, parts, BLOCK=512, ROUNDS=4)
    total[(1,)](parts, n_parts, result, torch.empty(9 * 512, dtype=torch.float32, device=x.device), BLOCK=512)
    return result
