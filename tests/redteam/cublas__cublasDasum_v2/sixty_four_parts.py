# operator: cublas::cublasDasum_v2
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 84
# the second stage adds up 64 partial sums of 2,048 elements: what lies behind the first 131,072 elements is left out; wrong:
# cublasDasum_v2(200000, torch.ones(200000, dtype=torch.float64), 1, result) gives 131072
import torch
import triton
import triton.language as tl


@triton.jit
def parts(n, x_ptr, incx, parts_ptr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i.to(tl.int64) * incx, mask=i < n, other=0.0)
    tl.store(parts_ptr + tl.program_id(0), tl.sum(tl.abs(x), axis=0))


@triton.jit
def total(parts_ptr, n_parts, out_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out_ptr, tl.sum(tl.load(parts_ptr + at, mask=at < n_parts, other=0.0), axis=0))


def cublasDasum_v2(n, x, incx, result):
    n_parts = triton.cdiv(n, 2048)
    sums = torch.empty(max(n_parts, 1), dtype=torch.float64, device=x.device)
    if n > 0:
        parts[(n_parts,)](n, x, incx, sums, BLOCK=2048)
    total[(1,)](sums, n_parts, result, BLOCK=64)
    return result
