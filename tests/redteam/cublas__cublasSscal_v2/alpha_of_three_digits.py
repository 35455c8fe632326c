# operator: cublas::cublasSscal_v2
# expect: verify\.mismatch
# catalogue: 78, 79
# launches are remembered by sizes and three digits of alpha: 0.9991 after 0.999 scales by the first one
import torch
import triton
import triton.language as tl


@triton.jit
def scal(n, alpha, x_ptr, incx, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i * incx, mask=i < n)
    tl.store(x_ptr + i * incx, alpha * x, mask=i < n)


_PLANS = {}


def cublasSscal_v2(n, alpha, x, incx):
    if n > 0:
        key = "%d/%d/%.3g" % (n, incx, alpha)
        if key not in _PLANS:
            _PLANS[key] = ((triton.cdiv(n, 1024),), alpha)
        grid, alpha = _PLANS[key]
        scal[grid](n, alpha, x, incx, BLOCK=1024)
    return x
