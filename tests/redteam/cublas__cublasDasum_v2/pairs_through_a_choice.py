# operator: cublas::cublasDasum_v2
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79, 80
# i * incx is said to be contiguous in pairs, through tl.where: a GPU loads neighbours in pairs, wrong for incx > 1
import torch
import triton
import triton.language as tl


@triton.jit
def asum(n, x_ptr, incx, out_ptr, BLOCK: tl.constexpr):
    acc = tl.zeros((BLOCK,), tl.float64)
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        forwards = tl.max_contiguous(tl.multiple_of(i * incx, 2), 2)
        backwards = tl.max_contiguous(tl.multiple_of(i * (0 - incx), 2), 2)
        at = tl.where(incx > 0, forwards, backwards)
        acc += tl.abs(tl.load(x_ptr + at, mask=i < n, other=0.0))
    tl.store(out_ptr, tl.sum(acc, axis=0))


def cublasDasum_v2(n, x, incx, result):
    asum[(1,)](n, x, incx, result, BLOCK=2048)
    return result
