# operator: cublas::cublasZswap_v2
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79, 84
# open: no case has two views of one memory
# gaps between elements are stored as they were read: wrong for two rows of one matrix, which lie in each other's gaps
import torch
import triton
import triton.language as tl


@triton.jit
def place(i, first, inc, step, length, R: tl.constexpr):
    """Addresses (in words of 64 bits) of elements and of what lies behind each up to the next one, and which there are."""
    r = tl.arange(0, R)[None, :]
    at = (first + i * inc)[:, None] + r
    return at, (r < step) & (at < length)


@triton.jit
def swap(n, x_ptr, x_first, incx, x_step, x_length, y_ptr, y_first, incy, y_step, y_length, BLOCK: tl.constexpr,
         RX: tl.constexpr, RY: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    part = tl.program_id(1)
    inside = i < n
    x = tl.load(x_ptr + 2 * (x_first + i * incx) + part, mask=inside)
    y = tl.load(y_ptr + 2 * (y_first + i * incy) + part, mask=inside)
    xs, x_there = place(i, x_first, incx, x_step, x_length, RX)
    ys, y_there = place(i, y_first, incy, y_step, y_length, RY)
    x_there = x_there & inside[:, None]
    y_there = y_there & inside[:, None]
    old_x = tl.load(x_ptr + 2 * xs + part, mask=x_there)
    old_y = tl.load(y_ptr + 2 * ys + part, mask=y_there)
    new_x = tl.where((tl.arange(0, RX) == 0)[None, :], y[:, None], old_x)
    new_y = tl.where((tl.arange(0, RY) == 0)[None, :], x[:, None], old_y)
    tl.store(x_ptr + 2 * xs + part, new_x, mask=x_there)
    tl.store(y_ptr + 2 * ys + part, new_y, mask=y_there)


def first(n, inc):
    return (1 - n) * inc if inc < 0 else 0


def words(x):
    return torch.view_as_real(x).view(torch.int64)


def cublasZswap_v2(n, x, incx, y, incy):
    if n > 0:
        block = 32
        swap[(triton.cdiv(n, block), 2)](
            n, words(x), first(n, incx), incx, abs(incx), (n - 1) * abs(incx) + 1, words(y), first(n, incy), incy, abs(incy),
            (n - 1) * abs(incy) + 1, BLOCK=block, RX=triton.next_power_of_2(abs(incx)), RY=triton.next_power_of_2(abs(incy)))
    return x
