# operator: cublas::cublasSgemvBatched
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79
# members are taken in the order of their matrices' addresses: where two share a matrix, results are missing
import torch
import triton
import triton.language as tl


@triton.jit
def gemv(a_array, x_array, y_array, n_out, n_in, a_out, a_in, x_first, incx, y_first, incy, alpha, beta, batch, KEEP: tl.constexpr,
         MEMBERS: tl.constexpr, BO: tl.constexpr, BI: tl.constexpr):
    lane = tl.arange(0, MEMBERS)
    address = tl.load(a_array + lane, mask=lane < batch, other=9223372036854775807)
    place = tl.sum((address[None, :] < address[:, None]).to(tl.int32), axis=1)
    member = tl.sum(tl.where(place == tl.program_id(1), lane, 0), axis=0)  # in the order of memory
    a_ptr = tl.load(a_array + member).to(tl.pointer_type(tl.float32))
    x_ptr = tl.load(x_array + member).to(tl.pointer_type(tl.float32)) + x_first
    y_ptr = tl.load(y_array + member).to(tl.pointer_type(tl.float32)) + y_first
    i = tl.program_id(0) * BO + tl.arange(0, BO)
    total = tl.zeros((BO,), tl.float32)
    for start in range(0, n_in, BI):
        j = start + tl.arange(0, BI)
        a = tl.load(a_ptr + i[:, None] * a_out + j[None, :] * a_in, mask=(i < n_out)[:, None] & (j < n_in)[None, :], other=0.0)
        x = tl.load(x_ptr + j * incx, mask=j < n_in, other=0.0)
        total += tl.sum(a * x[None, :], axis=1)
    total *= alpha
    if KEEP:
        total += beta * tl.load(y_ptr + i * incy, mask=i < n_out, other=0.0)
    tl.store(y_ptr + i * incy, total, mask=i < n_out)


def first(n, inc):
    """Where element 0 of a vector lies."""
    return (1 - n) * inc if inc < 0 else 0


def cublasSgemvBatched(trans, m, n, alpha, Aarray, lda, xarray, incx, beta, yarray, incy, batchCount):
    if m > 0 and n > 0 and batchCount > 0:
        n_out, n_in, steps = (m, n, (1, lda)) if trans == 0 else (n, m, (lda, 1))
        n_in = n_in if alpha != 0 else 0
        gemv[(triton.cdiv(n_out, 64), batchCount)](Aarray, xarray, yarray, n_out, n_in, *steps, first(n_in, incx), incx,
                                                   first(n_out, incy), incy, alpha, beta, batchCount,
                                                   MEMBERS=triton.next_power_of_2(batchCount), KEEP=beta != 0, BO=64, BI=64)
    return yarray
