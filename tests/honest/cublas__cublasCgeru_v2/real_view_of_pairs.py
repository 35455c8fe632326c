# operator: cublas::cublasCgeru_v2
# style: torch.view_as_real on the host, pairs in the kernel
import torch
import triton
import triton.language as tl


@triton.jit
def _cgeru_kernel(
    m, n, alpha_re, alpha_im,
    x_ptr, x_start, incx, y_ptr, y_start, incy, a_ptr, lda,
    BM: tl.constexpr, BN: tl.constexpr,
):
    # Pointers are to float32, real and imaginary parts alternate.
    tiles_m = tl.cdiv(m, BM)
    pid = tl.program_id(0)
    i = (pid % tiles_m).to(tl.int64) * BM + tl.arange(0, BM)
    j = (pid // tiles_m).to(tl.int64) * BN + tl.arange(0, BN)
    mask_i = i < m
    mask_j = j < n

    x_at = x_ptr + 2 * (x_start + i * incx)
    xr = tl.load(x_at, mask=mask_i, other=0.0)
    xi = tl.load(x_at + 1, mask=mask_i, other=0.0)
    sr = alpha_re * xr - alpha_im * xi
    si = alpha_re * xi + alpha_im * xr

    y_at = y_ptr + 2 * (y_start + j * incy)
    yr = tl.load(y_at, mask=mask_j, other=0.0)
    yi = tl.load(y_at + 1, mask=mask_j, other=0.0)

    mask = mask_i[:, None] & mask_j[None, :]
    a_at = a_ptr + 2 * (i[:, None] + j[None, :] * lda)
    ar = tl.load(a_at, mask=mask, other=0.0)
    ai = tl.load(a_at + 1, mask=mask, other=0.0)
    ar += sr[:, None] * yr[None, :] - si[:, None] * yi[None, :]
    ai += sr[:, None] * yi[None, :] + si[:, None] * yr[None, :]
    tl.store(a_at, ar, mask=mask)
    tl.store(a_at + 1, ai, mask=mask)


def cublasCgeru_v2(m, n, alpha, x, incx, y, incy, A, lda):
    alpha = complex(alpha)
    if m <= 0 or n <= 0 or alpha == 0:
        return A
    BM = min(64, max(16, triton.next_power_of_2(m)))
    BN = min(16, triton.next_power_of_2(n))
    grid = (triton.cdiv(m, BM) * triton.cdiv(n, BN),)
    _cgeru_kernel[grid](
        m, n, alpha.real, alpha.imag,
        torch.view_as_real(x.detach()), 0 if incx > 0 else (1 - m) * incx, incx,
        torch.view_as_real(y.detach()), 0 if incy > 0 else (1 - n) * incy, incy,
        torch.view_as_real(A.detach()), lda,
        BM=BM, BN=BN, num_warps=4,
    )
    return A
