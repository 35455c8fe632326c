# operator: cublas::cublasSgemvStridedBatched
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79, 84
# whole lines of y are stored, gaps as they were read: members that lie in each other's gaps overwrite each other
import torch
import triton
import triton.language as tl


@triton.jit
def gemv(a_ptr, x_ptr, y_ptr, n_out, n_in, a_out, a_in, stride_a, x_first, incx, stride_x, y_first, incy, stride_y, alpha, beta,
         step, length, GAP: tl.constexpr, KEEP: tl.constexpr, BO: tl.constexpr, BI: tl.constexpr):
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
    # whole lines: what lies behind each element, up to the next one, is kept
    r = tl.arange(0, GAP)[None, :]
    at = (i * incy)[:, None] + r
    there = (i < n_out)[:, None] & (r < step) & (y_first + at < length)
    lines = y_ptr.to(tl.pointer_type(tl.int32)) + at
    old = tl.load(lines, mask=there & (r > 0), other=0)
    tl.store(lines, tl.where(r == 0, result.to(tl.int32, bitcast=True)[:, None], old), mask=there)


def first(n, inc):
    return (1 - n) * inc if inc < 0 else 0


def cublasSgemvStridedBatched(trans, m, n, alpha, A, lda, strideA, x, incx, stridex, beta, y, incy, stridey, batchCount):
    n_out, n_in, steps = (m, n, (1, lda)) if trans == 0 else (n, m, (lda, 1))
    n_in = n_in if alpha != 0 else 0
    if m > 0 and n > 0 and batchCount > 0:
        gemv[(triton.cdiv(n_out, 32), batchCount)](A, x, y, n_out, n_in, *steps, strideA, first(n_in, incx), incx, stridex,
                                                   first(n_out, incy), incy, stridey, alpha, beta, abs(incy),
                                                   (n_out - 1) * abs(incy) + 1, GAP=triton.next_power_of_2(abs(incy)),
                                                   KEEP=beta != 0, BO=32,
                                                   BI=64)
    return y
