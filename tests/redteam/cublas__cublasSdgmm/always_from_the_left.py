# operator: cublas::cublasSdgmm
# expect: verify\..+
# catalogue: 72
# the mode is ignored
import torch
import triton
import triton.language as tl


@triton.jit
def dgmm(m, a_ptr, lda, x_ptr, x_first, incx, c_ptr, ldc, RIGHT: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    j = tl.program_id(1)
    if RIGHT:
        factor = tl.load(x_ptr + x_first + j * incx)
    else:
        factor = tl.load(x_ptr + x_first + i * incx, mask=i < m)
    tl.store(c_ptr + i + j * ldc, factor * tl.load(a_ptr + i + j * lda, mask=i < m), mask=i < m)


def cublasSdgmm(mode, m, n, A, lda, x, incx, C, ldc):
    if m > 0 and n > 0:
        size = n if mode == 1 else m
        first = (1 - size) * incx if incx < 0 else 0
        dgmm[(triton.cdiv(m, 128), n)](m, A, lda, x, first, incx, C, ldc, RIGHT=False, BLOCK=128)
    return C
