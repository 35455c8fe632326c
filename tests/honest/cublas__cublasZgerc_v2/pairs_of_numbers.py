# operator: cublas::cublasZgerc_v2
# style: complex numbers as views of pairs, helper jit function with two results, 2D grid of tiles
import torch
import triton
import triton.language as tl


@triton.jit
def _times(ar, ai, br, bi):
    return ar * br - ai * bi, ar * bi + ai * br


@triton.jit
def gerc_kernel(x_ptr, y_ptr, a_ptr, m, n, incx, x_first, incy, y_first, lda, alpha_r: tl.float64,
                alpha_i: tl.float64, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    j = tl.program_id(1).to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)
    i_ok = i < m
    j_ok = j < n
    x_at = x_ptr + 2 * (x_first + i * incx)
    y_at = y_ptr + 2 * (y_first + j * incy)
    xr = tl.load(x_at, mask=i_ok, other=0.0)
    xi = tl.load(x_at + 1, mask=i_ok, other=0.0)
    yr = tl.load(y_at, mask=j_ok, other=0.0)
    yi = -tl.load(y_at + 1, mask=j_ok, other=0.0)
    xr, xi = _times(alpha_r, alpha_i, xr, xi)
    pr, pi = _times(xr[:, None], xi[:, None], yr[None, :], yi[None, :])
    a_at = a_ptr + 2 * (i[:, None] + j[None, :] * lda)
    mask = i_ok[:, None] & j_ok[None, :]
    tl.store(a_at, tl.load(a_at, mask=mask, other=0.0) + pr, mask=mask)
    tl.store(a_at + 1, tl.load(a_at + 1, mask=mask, other=0.0) + pi, mask=mask)


def _first(n, inc):
    return 0 if inc > 0 else (1 - n) * inc


def cublasZgerc_v2(m, n, alpha, x, incx, y, incy, A, lda):
    alpha = complex(alpha)
    if m == 0 or n == 0 or alpha == 0:
        return A
    BLOCK_M, BLOCK_N = 32, 16
    gerc_kernel[(triton.cdiv(m, BLOCK_M), triton.cdiv(n, BLOCK_N))](
        torch.view_as_real(x), torch.view_as_real(y), torch.view_as_real(A), m, n, incx, _first(m, incx), incy,
        _first(n, incy), lda, alpha.real, alpha.imag, BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N)
    return A
