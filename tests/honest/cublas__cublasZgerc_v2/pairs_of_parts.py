# operator: cublas::cublasZgerc_v2
# style: 2-D grid of column-major tiles, complex helpers in jit functions on (re, im) pairs, float64 scalars declared
import torch
import triton
import triton.language as tl


@triton.jit
def _load_complex(ptr, at, mask):
    return tl.load(ptr + 2 * at, mask=mask, other=0.0), tl.load(ptr + 2 * at + 1, mask=mask, other=0.0)


@triton.jit
def _times(ar, ai, br, bi):
    return ar * br - ai * bi, ar * bi + ai * br


@triton.jit
def zgerc_kernel(
    m, n, alpha_re: tl.float64, alpha_im: tl.float64,
    x_ptr, x_origin, incx, y_ptr, y_origin, incy, a_ptr, lda, n_tiles,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):
    i = tl.program_id(0).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    i_ok = i < m
    xr, xi = _load_complex(x_ptr, x_origin + i * incx, i_ok)
    # The second axis of the grid is bounded; a program steps over the tiles of columns that are left.
    for tile in range(tl.program_id(1), n_tiles, tl.num_programs(1)):
        j = (tile * BLOCK_N + tl.arange(0, BLOCK_N)).to(tl.int64)
        j_ok = j < n
        yr, yi = _load_complex(y_ptr, y_origin + j * incy, j_ok)
        tr, ti = _times(alpha_re, alpha_im, yr, -yi)
        pr, pi = _times(xr[:, None], xi[:, None], tr[None, :], ti[None, :])
        mask = i_ok[:, None] & j_ok[None, :]
        at = i[:, None] + (j * lda)[None, :]
        ar, ai = _load_complex(a_ptr, at, mask)
        tl.store(a_ptr + 2 * at, ar + pr, mask=mask)
        tl.store(a_ptr + 2 * at + 1, ai + pi, mask=mask)


def cublasZgerc_v2(m, n, alpha, x, incx, y, incy, A, lda):
    alpha = complex(alpha)
    if m == 0 or n == 0 or alpha == 0:
        return A
    block_m, block_n = 32, 16
    n_tiles = triton.cdiv(n, block_n)
    grid = (triton.cdiv(m, block_m), min(n_tiles, 4096))
    zgerc_kernel[grid](
        m, n, alpha.real, alpha.imag,
        torch.view_as_real(x), 0 if incx > 0 else -(m - 1) * incx, incx,
        torch.view_as_real(y), 0 if incy > 0 else -(n - 1) * incy, incy,
        torch.view_as_real(A), lda, n_tiles,
        BLOCK_M=block_m, BLOCK_N=block_n,
    )
    return A
