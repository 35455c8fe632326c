# operator: cublas::cublasDasum_v2
# expect: l1\.torch_compute
# catalogue: 86
# torch computes, the kernel copies
import torch
import triton
import triton.language as tl


@triton.jit
def asum(n, x_ptr, incx, out_ptr, BLOCK: tl.constexpr):
    acc = tl.zeros((BLOCK,), tl.float64)
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        acc += tl.abs(tl.load(x_ptr + i.to(tl.int64) * incx, mask=i < n, other=0.0))
    tl.store(out_ptr, tl.load(x_ptr))


def cublasDasum_v2(n, x, incx, result):
    asum[(1,)](n, x[:n * incx:incx].abs().sum(), incx, result, BLOCK=2048)
    return result
