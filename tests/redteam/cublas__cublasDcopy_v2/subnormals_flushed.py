# operator: cublas::cublasDcopy_v2
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79, 84
# float64 subnormals become 0 though every bit is to be copied
import torch
import triton
import triton.language as tl


@triton.jit
def copy(n, x_ptr, x_first, incx, y_ptr, y_first, incy, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    bits = tl.load(x_ptr + x_first + i * incx, mask=i < n, other=0)
    bits = tl.where(((bits >> 52) & 2047) == 0, 0, bits) if False else tl.where((((bits >> 52) & 2047) == 0) & ((bits << 12) != 0), 0, bits)
    tl.store(y_ptr + y_first + i * incy, bits, mask=i < n)


def first(n, inc):
    """Where element 0 of a vector lies."""
    return (1 - n) * inc if inc < 0 else 0


def cublasDcopy_v2(n, x, incx, y, incy):
    if n > 0:
        copy[(triton.cdiv(n, 2048),)](n, x.view(torch.int64), first(n, incx), incx, y.view(torch.int64), first(n, incy), incy,
                                      BLOCK=2048)
    return y
