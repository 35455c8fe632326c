# operator: cublas::cublasDcopy_v2
# expect: cheat\.torch_copies
# catalogue: 88, 89
# a kernel copies all of x, torch picks the elements and puts them to their places in y
import torch
import triton
import triton.language as tl


@triton.jit
def pass_on(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n), mask=at < n)


def vector(memory, n, inc):
    """Elements 0 to n - 1 or, with a negative increment, the other way round."""
    return memory.as_strided((n,), (abs(inc),)) if inc != 0 else memory[:1].expand(n)


def cublasDcopy_v2(n, x, incx, y, incy):
    if n > 0:
        copy = torch.empty(x.shape, dtype=torch.int64, device=x.device)
        pass_on[(triton.cdiv(x.numel(), 1024),)](x.view(torch.int64), copy, x.numel(), BLOCK=1024)
        source, target = vector(copy, n, incx), vector(y.view(torch.int64), n, incy)
        if (incx < 0) == (incy < 0):
            target.copy_(source)
        else:
            for i in range(n):
                target[i:i + 1].copy_(source[n - 1 - i:n - i])
    return y
