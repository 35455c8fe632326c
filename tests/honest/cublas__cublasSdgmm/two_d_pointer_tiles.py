# operator: cublas::cublasSdgmm
# style: 2-D tiles of pointers in column-major order, x broadcast along rows or columns by a constexpr side
import triton
import triton.language as tl


@triton.jit
def dgmm_kernel(m, n, a_ptr, lda, x_ptr, incx, x0, c_ptr, ldc,
                RIGHT: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BM + tl.arange(0, BM)
    j = tl.program_id(1).to(tl.int64) * BN + tl.arange(0, BN)
    mask = (i < m)[:, None] & (j < n)[None, :]
    a = tl.load(a_ptr + i[:, None] + (j * lda)[None, :], mask=mask, other=0.0)
    if RIGHT:
        x = tl.load(x_ptr + x0 + j * incx, mask=j < n, other=0.0)[None, :]
    else:
        x = tl.load(x_ptr + x0 + i * incx, mask=i < m, other=0.0)[:, None]
    tl.store(c_ptr + i[:, None] + (j * ldc)[None, :], a * x, mask=mask)


def cublasSdgmm(mode, m, n, A, lda, x, incx, C, ldc):
    if m == 0 or n == 0:
        return C
    length = m if mode == 0 else n
    x0 = (1 - length) * incx if incx < 0 else 0
    dgmm_kernel[(triton.cdiv(m, 64), triton.cdiv(n, 32))](
        m, n, A, lda, x, incx, x0, C, ldc, RIGHT=mode == 1, BM=64, BN=32,
    )
    return C
