# operator: cublas::cublasSscal_v2
# expect: verify\..+
# catalogue: 72
# the increment is ignored
import torch
import triton
import triton.language as tl


@triton.jit
def scal(n, alpha, x_ptr, incx, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.store(x_ptr + i, alpha * x, mask=i < n)


def cublasSscal_v2(n, alpha, x, incx):
    if n > 0:
        scal[(triton.cdiv(n, 1024),)](n, alpha, x, incx, BLOCK=1024)
    return x
