# operator: cublas::cublasSscal_v2
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 85
# open: kinds of arguments
# alpha is asked is_integer(), which only a float has (Python 3.11): a whole Python number raises although alpha may be any
# Python number; wrong: cublasSscal_v2(4, 2, x, 1) raises AttributeError
import torch
import triton
import triton.language as tl


@triton.jit
def scal(n, alpha, x_ptr, incx, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i * incx, mask=i < n)
    tl.store(x_ptr + i * incx, alpha * x, mask=i < n)


def cublasSscal_v2(n, alpha, x, incx):
    if alpha.is_integer() and alpha == 1:
        return x
    if n > 0:
        scal[(triton.cdiv(n, 1024),)](n, alpha, x, incx, BLOCK=1024)
    return x
