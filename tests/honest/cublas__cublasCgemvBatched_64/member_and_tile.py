# operator: cublas::cublasCgemvBatched_64
# style: pointers loaded from the address tables, one program per (member, tile of y), elementwise accumulators reduced at the end
import triton
import triton.language as tl

ROWS = 32
DEPTH = 32


@triton.jit
def gemv_kernel(
    a_table, x_table, y_table,
    length, depth, out_step, sum_step,
    x_origin, incx, y_origin, incy,
    alpha_re, alpha_im, beta_re, beta_im, tiles,
    CONJUGATE: tl.constexpr, KEEP: tl.constexpr,
    ROWS: tl.constexpr, DEPTH: tl.constexpr,
):
    pid = tl.program_id(0).to(tl.int64)
    member = pid // tiles
    r = pid % tiles * ROWS + tl.arange(0, ROWS)
    r_ok = r < length

    a_ptr = tl.load(a_table + member).to(tl.pointer_type(tl.float32))
    x_ptr = tl.load(x_table + member).to(tl.pointer_type(tl.float32))
    y_ptr = tl.load(y_table + member).to(tl.pointer_type(tl.float32))

    sum_re = tl.zeros([ROWS, DEPTH], dtype=tl.float32)
    sum_im = tl.zeros([ROWS, DEPTH], dtype=tl.float32)
    for start in range(0, depth, DEPTH):
        d = start + tl.arange(0, DEPTH).to(tl.int64)
        d_ok = d < depth
        x_at = 2 * (x_origin + d * incx)
        xr = tl.load(x_ptr + x_at, mask=d_ok, other=0.0)[None, :]
        xi = tl.load(x_ptr + x_at + 1, mask=d_ok, other=0.0)[None, :]
        a_at = 2 * ((r * out_step)[:, None] + (d * sum_step)[None, :])
        a_ok = r_ok[:, None] & d_ok[None, :]
        ar = tl.load(a_ptr + a_at, mask=a_ok, other=0.0)
        ai = tl.load(a_ptr + a_at + 1, mask=a_ok, other=0.0)
        if CONJUGATE:
            ai = -ai
        sum_re += ar * xr - ai * xi
        sum_im += ar * xi + ai * xr
    pr = tl.sum(sum_re, axis=1)
    pi = tl.sum(sum_im, axis=1)

    result_re = alpha_re * pr - alpha_im * pi
    result_im = alpha_re * pi + alpha_im * pr
    y_at = 2 * (y_origin + r * incy)
    if KEEP:
        yr = tl.load(y_ptr + y_at, mask=r_ok, other=0.0)
        yi = tl.load(y_ptr + y_at + 1, mask=r_ok, other=0.0)
        result_re += beta_re * yr - beta_im * yi
        result_im += beta_re * yi + beta_im * yr
    tl.store(y_ptr + y_at, result_re, mask=r_ok)
    tl.store(y_ptr + y_at + 1, result_im, mask=r_ok)


def _origin(count, inc):
    return (1 - count) * inc if inc < 0 else 0


def cublasCgemvBatched_64(trans, m, n, alpha, Aarray, lda, xarray, incx, beta, yarray, incy, batchCount):
    if m == 0 or n == 0 or batchCount == 0:
        return yarray
    alpha = complex(alpha)
    beta = complex(beta)
    if trans == 0:
        length, inner, out_step, sum_step = m, n, 1, lda
    else:
        length, inner, out_step, sum_step = n, m, lda, 1
    tiles = triton.cdiv(length, ROWS)
    gemv_kernel[(tiles * batchCount,)](
        Aarray, xarray, yarray,
        length, 0 if alpha == 0 else inner, out_step, sum_step,
        _origin(inner, incx), incx, _origin(length, incy), incy,
        alpha.real, alpha.imag, beta.real, beta.imag, tiles,
        CONJUGATE=trans == 2, KEEP=beta != 0,
        ROWS=ROWS, DEPTH=DEPTH,
    )
    return yarray
