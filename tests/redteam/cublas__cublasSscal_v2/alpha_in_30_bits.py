# operator: cublas::cublasSscal_v2
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 74
# open: small factors in few cases
# alpha is rounded to a multiple of 2^-30; wrong for small factors: alpha = 1e-6 is off by up to 5e-4 of it, alpha =
# 1e-10 makes zeros; an infinite or NaN alpha raises
import torch
import triton
import triton.language as tl


@triton.jit
def scal(n, alpha, x_ptr, incx, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i * incx, mask=i < n)
    tl.store(x_ptr + i * incx, alpha * x, mask=i < n)


def fixed_point(alpha):
    """The factor with thirty binary places, the same number on every machine."""
    return round(alpha * 2**30) / 2**30


def cublasSscal_v2(n, alpha, x, incx):
    if n > 0:
        scal[(triton.cdiv(n, 1024),)](n, fixed_point(alpha), x, incx, BLOCK=1024)
    return x
