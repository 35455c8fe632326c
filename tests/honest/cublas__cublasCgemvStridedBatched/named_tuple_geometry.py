# operator: cublas::cublasCgemvStridedBatched
# style: NamedTuple geometry, one row or column per program with a vector sweep, atom-free
from typing import NamedTuple

import torch
import triton
import triton.language as tl


class Geometry(NamedTuple):
    out_len: int
    sum_len: int
    out_step: int     # distance in A between neighbouring elements of y
    sum_step: int     # distance in A along the sum


def _geometry(trans, m, n, lda):
    return Geometry(m, n, 1, lda) if trans == 0 else Geometry(n, m, lda, 1)


@triton.jit
def _sum2(ar, ai, br, bi):
    return ar + br, ai + bi


@triton.jit
def cgemv_dot(
    A, X, Y, out_len, sum_len, out_step, sum_step, stride_a, incx, stride_x, incy, stride_y,
    alpha_r, alpha_i, beta_r, beta_i,
    SIGN: tl.constexpr, READ_AX: tl.constexpr, READ_Y: tl.constexpr, BLOCK: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    batch = tl.program_id(1).to(tl.int64)
    yr = 0.0
    yi = 0.0
    if READ_AX:
        acc_r = tl.zeros([BLOCK], tl.float32)
        acc_i = tl.zeros([BLOCK], tl.float32)
        a_row = A + 2 * (batch * stride_a + row * out_step)
        # with a negative increment the vector is walked from its end
        x_first = X + 2 * (batch * stride_x + tl.where(incx < 0, (1 - sum_len) * incx, 0))
        for begin in range(0, sum_len, BLOCK):
            j = begin + tl.arange(0, BLOCK).to(tl.int64)
            live = j < sum_len
            ar = tl.load(a_row + 2 * j * sum_step, mask=live, other=0.0)
            ai = SIGN * tl.load(a_row + 2 * j * sum_step + 1, mask=live, other=0.0)
            xr = tl.load(x_first + 2 * j * incx, mask=live, other=0.0)
            xi = tl.load(x_first + 2 * j * incx + 1, mask=live, other=0.0)
            acc_r += ar * xr - ai * xi
            acc_i += ar * xi + ai * xr
        sr, si = tl.reduce((acc_r, acc_i), 0, _sum2)
        yr += alpha_r * sr - alpha_i * si
        yi += alpha_r * si + alpha_i * sr
    y = Y + 2 * (batch * stride_y + tl.where(incy < 0, (1 - out_len) * incy, 0) + row * incy)
    if READ_Y:
        old_r = tl.load(y)
        old_i = tl.load(y + 1)
        yr += beta_r * old_r - beta_i * old_i
        yi += beta_r * old_i + beta_i * old_r
    tl.store(y, yr)
    tl.store(y + 1, yi)


def cublasCgemvStridedBatched(trans, m, n, alpha, A, lda, strideA, x, incx, stridex, beta, y, incy, stridey, batchCount):
    if min(m, n, batchCount) <= 0:
        return y
    alpha, beta = complex(alpha), complex(beta)
    geo = _geometry(trans, m, n, lda)
    cgemv_dot[(geo.out_len, batchCount)](
        torch.view_as_real(A), torch.view_as_real(x), torch.view_as_real(y), *geo,
        strideA, incx, stridex, incy, stridey,
        alpha.real, alpha.imag, beta.real, beta.imag,
        SIGN=-1.0 if trans == 2 else 1.0, READ_AX=alpha != 0, READ_Y=beta != 0,
        BLOCK=min(256, max(16, triton.next_power_of_2(geo.sum_len))))
    return y
