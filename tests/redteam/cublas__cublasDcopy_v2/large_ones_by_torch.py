# operator: cublas::cublasDcopy_v2
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 86
# open: library beyond the cases
# vectors of more than 200,000 elements are copied by torch; no kernel of the file runs for them; wrong: cheat for
# cublasDcopy_v2(1000000, x, 1, y, 1): no launch
import torch
import triton
import triton.language as tl


@triton.jit
def copy(n, x_ptr, x_first, incx, y_ptr, y_first, incy, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    bits = tl.load(x_ptr + x_first + i * incx, mask=i < n, other=0)
    tl.store(y_ptr + y_first + i * incy, bits, mask=i < n)


def first(n, inc):
    """Where element 0 of a vector lies."""
    return (1 - n) * inc if inc < 0 else 0


def cublasDcopy_v2(n, x, incx, y, incy):
    if n > 200000 and min(incx, incy) > 0:
        y[:(n - 1) * incy + 1:incy].copy_(x[:(n - 1) * incx + 1:incx])
    elif n > 0:
        copy[(triton.cdiv(n, 2048),)](n, x.view(torch.int64), first(n, incx), incx, y.view(torch.int64), first(n, incy), incy,
                                      BLOCK=2048)
    return y
