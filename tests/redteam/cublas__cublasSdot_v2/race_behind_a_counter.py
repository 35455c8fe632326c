# operator: cublas::cublasSdot_v2
# expect: verify\.race
# catalogue: 81
# programs add to the result by a plain load and store; atomics on a counter beside it make every pair of programs look ordered
import torch
import triton
import triton.language as tl


@triton.jit
def partial(n, x_ptr, x_first, incx, y_ptr, y_first, incy, gate_ptr, out_ptr, BLOCK: tl.constexpr, ROUNDS: tl.constexpr):
    acc = tl.zeros((BLOCK,), tl.float32)
    start = tl.program_id(0) * BLOCK * ROUNDS
    for r in range(ROUNDS):
        i = start + r * BLOCK + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + x_first + i * incx, mask=i < n, other=0.0)
        y = tl.load(y_ptr + y_first + i * incy, mask=i < n, other=0.0)
        acc += x * y
    tl.atomic_add(gate_ptr, 1)
    tl.store(out_ptr, tl.load(out_ptr) + tl.sum(acc, axis=0))
    tl.atomic_add(gate_ptr, 1)


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
    parts = torch.zeros(1, dtype=torch.float32, device=x.device)
    partial[(n_parts,)](n, x, first(n, incx), incx, y, first(n, incy), incy, torch.zeros(1, dtype=torch.int32, device=x.device), parts, BLOCK=512, ROUNDS=4)
    total[(1,)](parts, 1, result, BLOCK=512)
    return result
