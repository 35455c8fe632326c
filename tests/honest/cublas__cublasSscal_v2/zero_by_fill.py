# operator: cublas::cublasSscal_v2
# style: a fill where alpha is 0
import torch
import triton
import triton.language as tl


@triton.jit
def scal(n, alpha, x_ptr, incx, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i * incx, mask=i < n)
    tl.store(x_ptr + i * incx, alpha * x, mask=i < n)


def cublasSscal_v2(n, alpha, x, incx):
    if alpha == 0 and n > 0:
        x[: (n - 1) * incx + 1 : incx].zero_()
    elif n > 0:
        scal[(triton.cdiv(n, 1024),)](n, alpha, x, incx, BLOCK=1024)
    return x
