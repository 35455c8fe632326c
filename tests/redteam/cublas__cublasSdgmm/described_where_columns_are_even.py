# operator: cublas::cublasSdgmm
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 85
# open: layouts
# a tensor descriptor reads A where lda is a multiple of four; that A itself must begin at a multiple of 16 bytes is not asked:
# a matrix inside a larger buffer is refused by the driver; wrong: A = buffer[1:] of a float32 tensor, lda 128: TMA needs
# 16-byte addresses, the call raises on a GPU
import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def described(m, a_desc, x_ptr, x_first, incx, c_ptr, ldc, RIGHT: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    j = tl.program_id(1)
    if RIGHT:
        factor = tl.load(x_ptr + x_first + j * incx)
    else:
        factor = tl.load(x_ptr + x_first + i * incx, mask=i < m)
    a = a_desc.load([j, tl.program_id(0) * BLOCK]).reshape(BLOCK)
    tl.store(c_ptr + i + j * ldc, factor * a, mask=i < m)


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
        if lda % 4 == 0:
            a_desc = TensorDescriptor(A, [n, m], [lda, 1], [1, 128])
            described[(triton.cdiv(m, 128), n)](m, a_desc, x, first, incx, C, ldc, RIGHT=mode == 1, BLOCK=128)
            return C
        dgmm[(triton.cdiv(m, 128), n)](m, A, lda, x, first, incx, C, ldc, RIGHT=mode == 1, BLOCK=128)
    return C
