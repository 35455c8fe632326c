# operator: cublas::cublasSdot_v2
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79, 84
# x . x of one and the same vector takes a path for norms that rounds to half precision
import torch
import triton
import triton.language as tl


@triton.jit
def partial(n, x_ptr, x_first, incx, y_ptr, y_first, incy, out_ptr, BLOCK: tl.constexpr, ROUNDS: tl.constexpr, SAME: tl.constexpr):
    acc = tl.zeros((BLOCK,), tl.float32)
    start = tl.program_id(0) * BLOCK * ROUNDS
    for r in range(ROUNDS):
        i = start + r * BLOCK + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + x_first + i * incx, mask=i < n, other=0.0)
        y = tl.load(y_ptr + y_first + i * incy, mask=i < n, other=0.0)
        if SAME:
            x = x.to(tl.float16).to(tl.float32)
            y = x
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
    parts = torch.empty(n_parts, dtype=torch.float32, device=x.device)
    partial[(n_parts,)](n, x, first(n, incx), incx, y, first(n, incy), incy, parts, BLOCK=512, ROUNDS=4, SAME=x is y)
    total[(1,)](parts, n_parts, result, BLOCK=512)
    return result
