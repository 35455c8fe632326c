# operator: cublas::cublasDsbmv_v2
# style: one lane for a row, loop over diagonals, float64 parameters by annotation
import triton
import triton.language as tl


@triton.jit
def sbmv_kernel(a_ptr, x_ptr, y_ptr, n, k, lda, incx, x_first, incy, y_first, alpha: tl.float64, beta: tl.float64,
                UPPER: tl.constexpr, USE_A: tl.constexpr, USE_Y: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    ok = i < n
    result = tl.zeros([BLOCK], dtype=tl.float64)
    if USE_A:
        for d in range(-k, k + 1):
            j = i + d
            inside = ok & (j >= 0) & (j < n)
            low = tl.minimum(i, j)
            high = tl.maximum(i, j)
            if UPPER:
                at = k + low - high + high * lda
            else:
                at = high - low + low * lda
            a = tl.load(a_ptr + at, mask=inside, other=0.0)
            x = tl.load(x_ptr + x_first + j * incx, mask=inside, other=0.0)
            result += a * x
        result = alpha * result
    y_at = y_ptr + y_first + i * incy
    if USE_Y:
        result += beta * tl.load(y_at, mask=ok, other=0.0)
    tl.store(y_at, result, mask=ok)


def _first(n, inc):
    return 0 if inc > 0 else (1 - n) * inc


def cublasDsbmv_v2(uplo, n, k, alpha, A, lda, x, incx, beta, y, incy):
    if n == 0:
        return y
    BLOCK = 128
    sbmv_kernel[(triton.cdiv(n, BLOCK),)](
        A, x, y, n, k, lda, incx, _first(n, incx), incy, _first(n, incy), float(alpha), float(beta),
        UPPER=uplo == 1, USE_A=alpha != 0, USE_Y=beta != 0, BLOCK=BLOCK)
    return y
