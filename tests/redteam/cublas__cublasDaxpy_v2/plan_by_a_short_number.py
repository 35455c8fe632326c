# operator: cublas::cublasDaxpy_v2
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 41, 79
# what a call needs (grid, first places, the factor) is kept under a text of its numbers, f"{n}/{incx}/{incy}/{alpha:g}"; the
# format has six digits, so a call whose alpha differs from an earlier one's behind them gets the earlier alpha
import triton
import triton.language as tl


@triton.jit
def axpy(n, alpha: tl.float64, x_ptr, x_first, incx, y_ptr, y_first, incy, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + x_first + i * incx, mask=i < n, other=0.0)
    at = y_ptr + y_first + i * incy
    tl.store(at, alpha * x + tl.load(at, mask=i < n, other=0.0), mask=i < n)


PLANS = {}


def plan(n, alpha, incx, incy):
    key = f"{n}/{incx}/{incy}/{alpha:g}"
    if key not in PLANS:
        x_first = (1 - n) * incx if incx < 0 else 0
        y_first = (1 - n) * incy if incy < 0 else 0
        PLANS[key] = ((triton.cdiv(n, 1024),), float(alpha), x_first, y_first)
    return PLANS[key]


def cublasDaxpy_v2(n, alpha, x, incx, y, incy):
    if n > 0 and alpha != 0:
        grid, factor, x_first, y_first = plan(n, alpha, incx, incy)
        axpy[grid](n, factor, x, x_first, incx, y, y_first, incy, BLOCK=1024)
    return y


# wrong call: cublasDaxpy_v2(1, 0.3, [1.], 1, [0.], 1) gives 0.3; then cublasDaxpy_v2(1, 0.3000001, [1.], 1, [0.], 1):
# right 0.3000001, wrong 0.3 (both are "0.3" in the key)
