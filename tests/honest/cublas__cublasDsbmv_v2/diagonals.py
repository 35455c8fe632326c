# operator: cublas::cublasDsbmv_v2
# style: fresh round of 2026-11-30
import triton
import triton.language as tl


@triton.jit
def element(i, start, inc):
    return start + i * inc


@triton.jit
def dsbmv(n, k, alpha: tl.float64, A, lda, x, x0, incx, beta: tl.float64, y, y0, incy,
          UPPER: tl.constexpr, PRODUCT: tl.constexpr, OLD: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    row = i < n
    r = tl.zeros([BLOCK], dtype=tl.float64)
    if PRODUCT:
        for d in range(-k, k + 1):
            j = i + d
            m = row & (j >= 0) & (j < n)
            lo = tl.minimum(i, j)
            hi = tl.maximum(i, j)
            if UPPER:
                at = k + lo - hi + hi * lda
            else:
                at = hi - lo + lo * lda
            a = tl.load(A + at, mask=m, other=0.0)
            v = tl.load(x + element(j, x0, incx), mask=m, other=0.0)
            r += a * v
        r = alpha * r
    where = y + element(i, y0, incy)
    if OLD:
        r += beta * tl.load(where, mask=row, other=0.0)
    tl.store(where, r, mask=row)


def _start(n, inc):
    return (1 - n) * inc if inc < 0 else 0


def cublasDsbmv_v2(uplo, n, k, alpha, A, lda, x, incx, beta, y, incy):
    if n == 0:
        return y
    BLOCK = 128
    dsbmv[(triton.cdiv(n, BLOCK),)](
        n, min(k, n - 1) if uplo == 0 else k, float(alpha), A, lda, x, _start(n, incx), incx, float(beta), y, _start(n, incy), incy,
        UPPER=uplo == 1, PRODUCT=alpha != 0, OLD=beta != 0, BLOCK=BLOCK)
    return y
