# operator: cublas::cublasDgemv_v2
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79
# open: few verdicts have an infinity beside a column of zeros
# terms whose x is 0 are left out, as old BLAS codes did: an infinity or NaN in such a column of A does not come through; wrong:
# A = [[inf]], x = [0.0]: NaN is right, beta * y comes out
import torch
import triton
import triton.language as tl


@triton.jit
def gemv(a_ptr, x_ptr, y_ptr, n_out, n_in, a_out, a_in, x_first, incx, y_first, incy, alpha: tl.float64, beta: tl.float64,
         KEEP: tl.constexpr, BO: tl.constexpr, BI: tl.constexpr):
    i = tl.program_id(0) * BO + tl.arange(0, BO)
    acc = tl.zeros((BO, BI), tl.float64)
    for start in range(0, n_in, BI):
        j = start + tl.arange(0, BI)
        inside = (i < n_out)[:, None] & (j < n_in)[None, :]
        a = tl.load(a_ptr + i[:, None] * a_out + j[None, :] * a_in, mask=inside, other=0.0)
        x = tl.load(x_ptr + x_first + j * incx, mask=j < n_in, other=0.0)
        acc += tl.where(x[None, :] != 0, a * x[None, :], 0.0)
    y = alpha * tl.sum(acc, axis=1)
    at = y_ptr + y_first + i * incy
    if KEEP:
        y += beta * tl.load(at, mask=i < n_out, other=0.0)
    tl.store(at, y, mask=i < n_out)


def first(n, inc):
    """Where element 0 of a vector lies."""
    return (1 - n) * inc if inc < 0 else 0


def cublasDgemv_v2(trans, m, n, alpha, A, lda, x, incx, beta, y, incy):
    if m > 0 and n > 0:
        n_out, n_in, steps = (m, n, (1, lda)) if trans == 0 else (n, m, (lda, 1))
        n_in = n_in if alpha != 0 else 0
        gemv[(triton.cdiv(n_out, 64),)](A, x, y, n_out, n_in, *steps, first(n_in, incx), incx, first(n_out, incy), incy, alpha,
                                        beta,
                                        KEEP=beta != 0, BO=64, BI=32)
    return y
