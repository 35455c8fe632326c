# operator: cublas::cublasZgemvBatched
# style: pointer arrays, separate kernels for the plain and the transposed matrix
import triton
import triton.language as tl


@triton.jit
def _scaled_store(y, at, ok, sr, si, ar, ai, br, bi, ALPHA: tl.constexpr, BETA: tl.constexpr):
    if ALPHA:
        rr = ar * sr - ai * si
        ri = ar * si + ai * sr
    else:
        rr = sr
        ri = si
    if BETA:
        yr = tl.load(y + at, mask=ok, other=0.0)
        yi = tl.load(y + at + 1, mask=ok, other=0.0)
        rr += br * yr - bi * yi
        ri += br * yi + bi * yr
    tl.store(y + at, rr, mask=ok)
    tl.store(y + at + 1, ri, mask=ok)


@triton.jit
def _gemv_n(a_list, x_list, y_list, m, n, lda, incx, x0, incy, y0,
            ar: tl.float64, ai: tl.float64, br: tl.float64, bi: tl.float64,
            ALPHA: tl.constexpr, BETA: tl.constexpr, BM: tl.constexpr):
    # one program: BM rows, all columns one after the other
    b = tl.program_id(1)
    y = tl.load(y_list + b).to(tl.pointer_type(tl.float64))
    i = tl.program_id(0).to(tl.int64) * BM + tl.arange(0, BM)
    ok = i < m
    sr = tl.zeros((BM,), tl.float64)
    si = tl.zeros((BM,), tl.float64)
    if ALPHA:
        a = tl.load(a_list + b).to(tl.pointer_type(tl.float64))
        x = tl.load(x_list + b).to(tl.pointer_type(tl.float64))
        for j in range(0, n):
            col = a + 2 * (i + j.to(tl.int64) * lda)
            cr = tl.load(col, mask=ok, other=0.0)
            ci = tl.load(col + 1, mask=ok, other=0.0)
            at = x + 2 * (x0 + j.to(tl.int64) * incx)
            xr = tl.load(at)
            xi = tl.load(at + 1)
            sr += cr * xr - ci * xi
            si += cr * xi + ci * xr
    _scaled_store(y, 2 * (y0 + i * incy), ok, sr, si, ar, ai, br, bi, ALPHA, BETA)


@triton.jit
def _gemv_t(a_list, x_list, y_list, m, n, lda, incx, x0, incy, y0,
            ar: tl.float64, ai: tl.float64, br: tl.float64, bi: tl.float64,
            CONJ: tl.constexpr, ALPHA: tl.constexpr, BETA: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    # one program: BN columns, each a scalar product along its column
    b = tl.program_id(1)
    y = tl.load(y_list + b).to(tl.pointer_type(tl.float64))
    j = tl.program_id(0).to(tl.int64) * BN + tl.arange(0, BN)
    j_ok = j < n
    sr = tl.zeros((BN,), tl.float64)
    si = tl.zeros((BN,), tl.float64)
    if ALPHA:
        a = tl.load(a_list + b).to(tl.pointer_type(tl.float64))
        x = tl.load(x_list + b).to(tl.pointer_type(tl.float64))
        for i0 in range(0, m, BM):
            i = i0 + tl.arange(0, BM).to(tl.int64)
            i_ok = i < m
            at = x + 2 * (x0 + i * incx)
            xr = tl.load(at, mask=i_ok, other=0.0)[None, :]
            xi = tl.load(at + 1, mask=i_ok, other=0.0)[None, :]
            ok = j_ok[:, None] & i_ok[None, :]
            cell = a + 2 * (i[None, :] + j[:, None] * lda)
            cr = tl.load(cell, mask=ok, other=0.0)
            ci = tl.load(cell + 1, mask=ok, other=0.0)
            if CONJ:
                ci = -ci
            sr += tl.sum(cr * xr - ci * xi, axis=1)
            si += tl.sum(cr * xi + ci * xr, axis=1)
    _scaled_store(y, 2 * (y0 + j * incy), j_ok, sr, si, ar, ai, br, bi, ALPHA, BETA)


def _begin(count, inc):
    return (1 - count) * inc if inc < 0 else 0


def cublasZgemvBatched(trans, m, n, alpha, Aarray, lda, xarray, incx, beta, yarray, incy, batchCount):
    if not (m and n and batchCount):
        return yarray
    alpha, beta = complex(alpha), complex(beta)
    scalars = (alpha.real, alpha.imag, beta.real, beta.imag)
    flags = dict(ALPHA=alpha != 0j, BETA=beta != 0j)
    if trans == 0:
        _gemv_n[(triton.cdiv(m, 64), batchCount)](
            Aarray, xarray, yarray, m, n, lda, incx, _begin(n, incx), incy, _begin(m, incy),
            *scalars, BM=64, **flags)
    else:
        _gemv_t[(triton.cdiv(n, 8), batchCount)](
            Aarray, xarray, yarray, m, n, lda, incx, _begin(m, incx), incy, _begin(n, incy),
            *scalars, CONJ=trans == 2, BM=64, BN=8, **flags)
    return yarray
