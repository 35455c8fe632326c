# operator: cublas::cublasSgemvStridedBatched
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 85
# layout: where the members of y lie in each other's gaps and incy is negative, the results are stored (and the old y is read)
# in the order of a positive increment
import torch
import triton
import triton.language as tl


@triton.jit
def gemv(a_ptr, x_ptr, y_ptr, n_out, n_in, a_out, a_in, stride_a, x_first, incx, stride_x, y_first, incy, stride_y, alpha, beta,
         KEEP: tl.constexpr, BO: tl.constexpr, BI: tl.constexpr):
    member = tl.program_id(1).to(tl.int64)
    a_ptr += member * stride_a
    x_ptr += member * stride_x + x_first
    y_ptr += member * stride_y + y_first
    i = tl.program_id(0) * BO + tl.arange(0, BO)
    acc = tl.zeros((BO,), tl.float32)
    for start in range(0, n_in, BI):
        j = start + tl.arange(0, BI)
        inside = (i < n_out)[:, None] & (j < n_in)[None, :]
        a = tl.load(a_ptr + i[:, None] * a_out + j[None, :] * a_in, mask=inside, other=0.0)
        acc += tl.sum(a * tl.load(x_ptr + j * incx, mask=j < n_in, other=0.0)[None, :], axis=1)
    result = alpha * acc
    if KEEP:
        result += beta * tl.load(y_ptr + i * incy, mask=i < n_out)
    tl.store(y_ptr + i * incy, result, mask=i < n_out)


def first(n, inc):
    return (1 - n) * inc if inc < 0 else 0


def cublasSgemvStridedBatched(trans, m, n, alpha, A, lda, strideA, x, incx, stridex, beta, y, incy, stridey, batchCount):
    n_out, n_in, steps = (m, n, (1, lda)) if trans == 0 else (n, m, (lda, 1))
    n_in = n_in if alpha != 0 else 0
    if m > 0 and n > 0 and batchCount > 0:
        y_first, y_step = first(n_out, incy), incy
        if batchCount > 1 and n_out > 1 and stridey < abs(incy):
            # the members lie in each other's gaps: y is a matrix with a line of members for each row
            y_first, y_step = 0, abs(incy)
        gemv[(triton.cdiv(n_out, 32), batchCount)](A, x, y, n_out, n_in, *steps, strideA, first(n_in, incx), incx, stridex,
                                                   y_first, y_step, stridey, alpha, beta, KEEP=beta != 0, BO=32, BI=64)
    return y


# wrong: y of a row-major matrix of 3 rows and 2 members, filled from its end: cublasSgemvStridedBatched(0, 3, 2, 1.0, A, 3, 6, x, 1, 2,
# 0.0, torch.zeros(6), -2, 1, 2) stores A0 x0 = (p, q, r) at 0, 2, 4 as p, q, r instead of r, q, p (member 1 likewise at 1, 3, 5)
