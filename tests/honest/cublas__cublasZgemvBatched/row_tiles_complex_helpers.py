# operator: cublas::cublasZgemvBatched
# style: one program for a tile of results and a member, two-dimensional partial sums reduced at the end, complex helper jit functions that return tuples
import triton
import triton.language as tl


@triton.jit
def _cmul(ar, ai, br, bi):
    return ar * br - ai * bi, ar * bi + ai * br


@triton.jit
def _load_pair(ptr, mask):
    return tl.load(ptr, mask=mask, other=0.0), tl.load(ptr + 1, mask=mask, other=0.0)


@triton.jit
def _zgemv_batched_kernel(
    a_array,
    x_array,
    y_array,
    alpha_re: tl.float64,
    alpha_im: tl.float64,
    beta_re: tl.float64,
    beta_im: tl.float64,
    outputs,
    inner,
    stride_out,
    stride_in,
    x_start,
    incx,
    y_start,
    incy,
    CONJ: tl.constexpr,
    PRODUCT: tl.constexpr,
    ADD_OLD: tl.constexpr,
    BLOCK_OUT: tl.constexpr,
    BLOCK_IN: tl.constexpr,
):
    batch = tl.program_id(1)
    i = (tl.program_id(0) * BLOCK_OUT + tl.arange(0, BLOCK_OUT)).to(tl.int64)
    out_mask = i < outputs
    re = tl.zeros((BLOCK_OUT,), dtype=tl.float64)
    im = tl.zeros((BLOCK_OUT,), dtype=tl.float64)
    if PRODUCT:
        a_ptr = tl.load(a_array + batch).to(tl.pointer_type(tl.float64))
        x_ptr = tl.load(x_array + batch).to(tl.pointer_type(tl.float64))
        sum_re = tl.zeros((BLOCK_OUT, BLOCK_IN), dtype=tl.float64)
        sum_im = tl.zeros((BLOCK_OUT, BLOCK_IN), dtype=tl.float64)
        for start in range(0, inner, BLOCK_IN):
            j = (start + tl.arange(0, BLOCK_IN)).to(tl.int64)
            in_mask = j < inner
            a_re, a_im = _load_pair(
                a_ptr + 2 * (i[:, None] * stride_out + j[None, :] * stride_in),
                out_mask[:, None] & in_mask[None, :],
            )
            x_re, x_im = _load_pair(x_ptr + 2 * (x_start + j * incx), in_mask)
            if CONJ:
                a_im = -a_im
            p_re, p_im = _cmul(a_re, a_im, x_re[None, :], x_im[None, :])
            sum_re += p_re
            sum_im += p_im
        re, im = _cmul(tl.sum(sum_re, axis=1), tl.sum(sum_im, axis=1), alpha_re, alpha_im)

    y_ptr = tl.load(y_array + batch).to(tl.pointer_type(tl.float64))
    y_at = y_ptr + 2 * (y_start + i * incy)
    if ADD_OLD:
        y_re, y_im = _load_pair(y_at, out_mask)
        y_re, y_im = _cmul(y_re, y_im, beta_re, beta_im)
        re += y_re
        im += y_im
    tl.store(y_at, re, mask=out_mask)
    tl.store(y_at + 1, im, mask=out_mask)


def _first(count, inc):
    """Where a vector's element 0 lies, in elements from its pointer."""
    return 0 if inc > 0 else (1 - count) * inc


def cublasZgemvBatched(trans, m, n, alpha, Aarray, lda, xarray, incx, beta, yarray, incy, batchCount):
    if m == 0 or n == 0 or batchCount == 0:
        return yarray
    alpha, beta = complex(alpha), complex(beta)
    if trans == 0:
        outputs, inner, stride_out, stride_in = m, n, 1, lda
    else:
        outputs, inner, stride_out, stride_in = n, m, lda, 1
    block_out = 32
    _zgemv_batched_kernel[(triton.cdiv(outputs, block_out), batchCount)](
        Aarray,
        xarray,
        yarray,
        alpha.real,
        alpha.imag,
        beta.real,
        beta.imag,
        outputs,
        inner,
        stride_out,
        stride_in,
        _first(inner, incx),
        incx,
        _first(outputs, incy),
        incy,
        CONJ=trans == 2,
        PRODUCT=alpha != 0,
        ADD_OLD=beta != 0,
        BLOCK_OUT=block_out,
        BLOCK_IN=32,
    )
    return yarray
