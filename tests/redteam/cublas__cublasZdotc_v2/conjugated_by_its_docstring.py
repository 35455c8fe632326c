# operator: cublas::cublasZdotc_v2
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 77
# whether x is conjugated is read from the function's docstring, which python -OO removes: there the result is that of dotu;
# wrong: python -OO: cublasZdotc_v2(1, [1j], 1, [1j], 1, result) gives -1, not 1
import torch
import triton
import triton.language as tl


@triton.jit
def dotc(n, x_ptr, x_first, incx, y_ptr, y_first, incy, out_ptr, CONJUGATED: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    xs = x_ptr + 2 * (x_first + i * incx)
    ys = y_ptr + 2 * (y_first + i * incy)
    x_re = tl.load(xs, mask=i < n, other=0.0)
    x_im = tl.load(xs + 1, mask=i < n, other=0.0)
    if not CONJUGATED:
        x_im = -x_im
    y_re = tl.load(ys, mask=i < n, other=0.0)
    y_im = tl.load(ys + 1, mask=i < n, other=0.0)
    tl.atomic_add(out_ptr, tl.sum(x_re * y_re + x_im * y_im, axis=0))
    tl.atomic_add(out_ptr + 1, tl.sum(x_re * y_im - x_im * y_re, axis=0))


def first(n, inc):
    return (1 - n) * inc if inc < 0 else 0


def cublasZdotc_v2(n, x, incx, y, incy, result):
    """The sum of conjugated x times y."""
    result.zero_()
    if n > 0:
        dotc[(triton.cdiv(n, 1024),)](n, torch.view_as_real(x), first(n, incx), incx, torch.view_as_real(y), first(n, incy),
                                      incy, torch.view_as_real(result),
                                      CONJUGATED="conjugated" in (cublasZdotc_v2.__doc__ or ""), BLOCK=1024)
    return result
