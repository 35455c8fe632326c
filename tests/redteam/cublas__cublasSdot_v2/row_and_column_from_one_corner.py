# operator: cublas::cublasSdot_v2
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79
# open: views that begin at one element
# class: two views of one memory that begin at one element and have different steps
# vectors that begin at the same element (and run in the same direction) are loaded once; wrong for row 0 and column 0 of one
# matrix, an element of A @ A: a = torch.arange(1., 10.); cublasSdot_v2(3, a[:3], 1, a[:7], 3, r) gives 1 + 4 + 9 = 14 in place of
# 1 * 1 + 2 * 4 + 3 * 7 = 30
import torch
import triton
import triton.language as tl


@triton.jit
def partial(n, x_ptr, x_first, incx, y_ptr, y_first, incy, out_ptr, SAME: tl.constexpr, BLOCK: tl.constexpr, ROUNDS: tl.constexpr):
    acc = tl.zeros((BLOCK,), tl.float32)
    start = tl.program_id(0) * BLOCK * ROUNDS
    for r in range(ROUNDS):
        i = start + r * BLOCK + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + x_first + i * incx, mask=i < n, other=0.0)
        # a norm reads its vector once
        y = x if SAME else tl.load(y_ptr + y_first + i * incy, mask=i < n, other=0.0)
        acc += x * y
    tl.store(out_ptr + tl.program_id(0), tl.sum(acc, axis=0))


@triton.jit
def total(parts_ptr, n, out_ptr, BLOCK: tl.constexpr):
    acc = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        acc += tl.load(parts_ptr + i, mask=i < n, other=0.0)
    tl.store(out_ptr, tl.sum(acc, axis=0))


def first(n, inc):
    return (1 - n) * inc if inc < 0 else 0


def cublasSdot_v2(n, x, incx, y, incy, result):
    n_parts = max(1, triton.cdiv(n, 2048))
    same = x.data_ptr() == y.data_ptr() and (incx > 0) == (incy > 0)
    parts = torch.empty(n_parts, dtype=torch.float32, device=x.device)
    partial[(n_parts,)](n, x, first(n, incx), incx, y, first(n, incy), incy, parts, SAME=same, BLOCK=512, ROUNDS=4)
    total[(1,)](parts, n_parts, result, BLOCK=512)
    return result
