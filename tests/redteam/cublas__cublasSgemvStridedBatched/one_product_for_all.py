# operator: cublas::cublasSgemvStridedBatched
# expect: (verify|cheat)\..*
# catalogue: 84
# open: strides of 0 that go together
# where all members share a matrix and a vector (both strides 0, all dense, transposed) the product is made once and written to
# each member; with beta the old y of the first member is added for all of them
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


@triton.jit
def one_product(a_ptr, x_ptr, y_ptr, n_out, n_in, a_out, a_in, stride_y, batch, alpha, beta, KEEP: tl.constexpr, BO: tl.constexpr,
                BI: tl.constexpr):
    """All members have the same matrix and the same vector: their product is made once and written to each of them."""
    i = tl.program_id(0) * BO + tl.arange(0, BO)
    acc = tl.zeros((BO,), tl.float32)
    for start in range(0, n_in, BI):
        j = start + tl.arange(0, BI)
        inside = (i < n_out)[:, None] & (j < n_in)[None, :]
        a = tl.load(a_ptr + i[:, None] * a_out + j[None, :] * a_in, mask=inside, other=0.0)
        acc += tl.sum(a * tl.load(x_ptr + j, mask=j < n_in, other=0.0)[None, :], axis=1)
    result = alpha * acc
    if KEEP:
        result += beta * tl.load(y_ptr + i, mask=i < n_out)
    for member in range(0, batch):
        tl.store(y_ptr + member * stride_y + i, result, mask=i < n_out)


def first(n, inc):
    return (1 - n) * inc if inc < 0 else 0


def cublasSgemvStridedBatched(trans, m, n, alpha, A, lda, strideA, x, incx, stridex, beta, y, incy, stridey, batchCount):
    n_out, n_in, steps = (m, n, (1, lda)) if trans == 0 else (n, m, (lda, 1))
    n_in = n_in if alpha != 0 else 0
    if m > 0 and n > 0 and batchCount > 0:
        dense = lda == m and incx == 1 and incy == 1
        if strideA == 0 and stridex == 0 and dense and trans != 0:
            one_product[(triton.cdiv(n_out, 32),)](A, x, y, n_out, n_in, *steps, stridey, batchCount, alpha, beta, KEEP=beta != 0,
                                                   BO=32, BI=64)
            return y
        gemv[(triton.cdiv(n_out, 32), batchCount)](A, x, y, n_out, n_in, *steps, strideA, first(n_in, incx), incx, stridex,
                                                   first(n_out, incy), incy, stridey, alpha, beta, KEEP=beta != 0, BO=32,
                                                   BI=64)
    return y


# wrong call: trans 1, m = n = 1, alpha = 1, A = [1], lda 1, strideA 0, x = [1], incx 1, stridex 0, beta = 1, y = [10, 20], incy 1,
# stridey 1, batchCount 2: right [11, 21], wrong [11, 11]
