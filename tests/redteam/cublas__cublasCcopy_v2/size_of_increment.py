# operator: cublas::cublasCcopy_v2
# expect: verify\.mismatch
# catalogue: 84
# a negative increment counts as a positive one
import torch
import triton
import triton.language as tl


@triton.jit
def copy(n, x_ptr, x_first, incx, y_ptr, y_first, incy, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + x_first + i * incx, mask=i < n)
    tl.store(y_ptr + y_first + i * incy, x, mask=i < n)


def first(n, inc):
    return (1 - n) * inc if inc < 0 else 0


def cublasCcopy_v2(n, x, incx, y, incy):
    if n > 0:
        copy[(triton.cdiv(n, 1024),)](n, x.view(torch.int64), 0, abs(incx), y.view(torch.int64), first(n, incy), incy,
                                      BLOCK=1024)
    return y
