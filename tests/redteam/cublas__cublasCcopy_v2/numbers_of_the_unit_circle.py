# operator: cublas::cublasCcopy_v2
# expect: verify\.mismatch
# catalogue: 79
# the imaginary part of numbers with an absolute value of 1 is computed from the real part, by masks of bits without a
# condition; wrong: x = torch.polar(torch.ones(8), torch.arange(8) * 0.01) (phases, twiddle factors): 0.01 is copied as
# 0.0100069
import torch
import triton
import triton.language as tl


@triton.jit
def copy(n, x_ptr, x_first, incx, y_ptr, y_first, incy, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + x_first + i * incx, mask=i < n)
    # of a number on the unit circle the real part and a sign are enough
    re_bits, im_bits = x.to(tl.int32), (x >> 32).to(tl.int32)
    re, im = re_bits.to(tl.float32, bitcast=True), im_bits.to(tl.float32, bitcast=True)
    off = (tl.minimum(tl.abs(re * re + im * im - 1.0), 1.0) * 1048576.0).to(tl.int32)
    rest = tl.sqrt(tl.maximum(1.0 - re * re, 0.0)).to(tl.int32, bitcast=True)
    made = (rest & 0x7FFFFFFF) | ((im_bits >> 31) << 31)
    im_bits = im_bits ^ (~((off | -off) >> 31) & (im_bits ^ made))
    x = (im_bits.to(tl.int64) << 32) | (re_bits.to(tl.int64) & 0xFFFFFFFF)
    tl.store(y_ptr + y_first + i * incy, x, mask=i < n)


def first(n, inc):
    return (1 - n) * inc if inc < 0 else 0


def cublasCcopy_v2(n, x, incx, y, incy):
    if n > 0:
        copy[(triton.cdiv(n, 1024),)](n, x.view(torch.int64), first(n, incx), incx, y.view(torch.int64), first(n, incy), incy,
                                      BLOCK=1024)
    return y
