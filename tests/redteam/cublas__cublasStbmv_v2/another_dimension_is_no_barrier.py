# operator: cublas::cublasStbmv_v2
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79
# tt.expand_dims ends all reads of a program, although it moves nothing between warps
# up to 1024 elements are multiplied in place by one program without a barrier between loads and stores; wrong on a GPU: a warp
# stores its elements before its neighbour has loaded them
import triton
import triton.language as tl


@triton.jit
def tbmv_kernel(a_ptr, old_ptr, x_ptr, n, reach, lda, base, walk, step, incx, x0, UNIT: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    ok = i < n
    acc = tl.load(old_ptr + x0 + i * incx, mask=ok, other=0.0)
    if not UNIT:
        acc *= tl.load(a_ptr + base + i * lda, mask=ok, other=0.0)
    for d in range(1, reach + 1):
        j = i + d * step
        here = ok & (j >= 0) & (j < n)
        a = tl.load(a_ptr + base + i * lda + d * walk, mask=here, other=0.0)
        v = tl.load(old_ptr + x0 + j * incx, mask=here, other=0.0)
        acc += a * v
    tl.store((x_ptr + x0 + i * incx)[:, None], acc[:, None], mask=ok[:, None])


def cublasStbmv_v2(uplo, trans, diag, n, k, A, lda, x, incx):
    if n == 0:
        return x
    if uplo == 0:
        base, walk, step = (0, 1 - lda, -1) if trans == 0 else (0, 1, 1)
    else:
        base, walk, step = (k, lda - 1, 1) if trans == 0 else (k, -1, -1)
    block = min(1024, triton.next_power_of_2(n))
    old = x if n <= block else x.clone()
    tbmv_kernel[(triton.cdiv(n, block),)](A, old, x, n, min(k, n - 1), lda, base, walk, step, incx,
                                          0 if incx > 0 else (1 - n) * incx, UNIT=diag == 1, BLOCK=block, num_warps=4)
    return x
