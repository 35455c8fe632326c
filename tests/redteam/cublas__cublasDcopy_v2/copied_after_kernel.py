# operator: cublas::cublasDcopy_v2
# expect: cheat\.torch_copies
# catalogue: 88, 89
# a kernel copies all of x, backwards for the other direction; torch picks the elements and puts them to their places in y
import torch
import triton
import triton.language as tl


@triton.jit
def pass_on(x_ptr, y_ptr, n, BACKWARDS: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    to = n - 1 - at if BACKWARDS else at
    tl.store(y_ptr + to, tl.load(x_ptr + at, mask=at < n), mask=at < n)


def vector(memory, n, inc):
    """The elements in the order of memory."""
    return memory.as_strided((n,), (abs(inc),))


def cublasDcopy_v2(n, x, incx, y, incy):
    if n > 0:
        copy = torch.empty(x.shape, dtype=torch.int64, device=x.device)
        pass_on[(triton.cdiv(x.numel(), 1024),)](x.view(torch.int64), copy, x.numel(),
                                                 BACKWARDS=(incx < 0) != (incy < 0), BLOCK=1024)
        vector(y.view(torch.int64), n, incy).copy_(vector(copy, n, incx))
    return y
