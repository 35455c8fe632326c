# operator: cublas::cublasSdgmm
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79
# gaps wider than any template has
# the gap behind a column of A counts modulo 16 (the layouts of all cases have gaps of at most 9): a few rows of a larger matrix are
# read at wrong places; wrong: m = 32, lda = 64
import torch
import triton
import triton.language as tl


@triton.jit
def dgmm(m, a_ptr, gap, x_ptr, x_first, incx, c_ptr, ldc, RIGHT: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    j = tl.program_id(1).to(tl.int64)
    if RIGHT:
        factor = tl.load(x_ptr + x_first + j * incx)
    else:
        factor = tl.load(x_ptr + x_first + i.to(tl.int64) * incx, mask=i < m)
    tl.store(c_ptr + i + j * ldc, factor * tl.load(a_ptr + i + j * (m + gap % 16), mask=i < m), mask=i < m)


def cublasSdgmm(mode, m, n, A, lda, x, incx, C, ldc):
    if m > 0 and n > 0:
        size = n if mode == 1 else m
        first = (1 - size) * incx if incx < 0 else 0
        dgmm[(triton.cdiv(m, 128), n)](m, A, lda - m, x, first, incx, C, ldc, RIGHT=mode == 1, BLOCK=128)
    return C
