# operator: cublas::cublasDaxpy_v2
# style: increments of either sign; alpha as a tensor of one element, since numbers are passed in float32
import torch
import triton
import triton.language as tl


@triton.jit
def axpy(n, alpha_ptr, x_ptr, incx, y_ptr, incy, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + tl.where(incx < 0, i - n + 1, i) * incx, mask=i < n, other=0.0)
    at = y_ptr + tl.where(incy < 0, i - n + 1, i) * incy
    tl.store(at, tl.load(alpha_ptr) * x + tl.load(at, mask=i < n, other=0.0), mask=i < n)


def cublasDaxpy_v2(n, alpha, x, incx, y, incy):
    if n > 0 and alpha != 0:
        axpy[(triton.cdiv(n, 1024),)](n, torch.full((1,), alpha, dtype=torch.float64, device=x.device), x, incx, y, incy,
                                      BLOCK=1024)
    return y
