# operator: cublas::cublasStrsv_v2
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79
# an access by a scalar belongs to no lane, so it races with no warp
# the right side stays in scratch memory: lanes store what is left of it, and the next step loads one unknown of it as a scalar,
# without a barrier between; wrong on a GPU: four warps run apart, a warp takes the unknown before another one has stored it
import torch
import triton
import triton.language as tl


@triton.jit
def trsv(n, a_ptr, row_step, column_step, x_ptr, x_first, incx, w_ptr, LOWER: tl.constexpr, UNIT: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(w_ptr + i, tl.load(x_ptr + x_first + i * incx, mask=i < n), mask=i < n)
    for step in range(0, n):
        j = step if LOWER else n - 1 - step
        known = tl.load(w_ptr + j)
        if not UNIT:
            known = known / tl.load(a_ptr + j * (row_step + column_step))
        rest = (i > j) & (i < n) if LOWER else i < j
        column = tl.load(a_ptr + i * row_step + j * column_step, mask=rest, other=0.0)
        left = tl.load(w_ptr + i, mask=rest, other=0.0)
        tl.store(w_ptr + i, left - column * known, mask=rest)
        tl.store(x_ptr + x_first + j * incx, known)


def cublasStrsv_v2(uplo, trans, diag, n, A, lda, x, incx):
    if n > 0:
        steps = (1, lda) if trans == 0 else (lda, 1)
        first = (1 - n) * incx if incx < 0 else 0
        work = torch.empty(n, dtype=x.dtype, device=x.device)
        trsv[(1,)](n, A, *steps, x, first, incx, work, LOWER=(uplo == 0) == (trans == 0), UNIT=diag == 1,
                   BLOCK=triton.next_power_of_2(n), num_warps=4)
    return x
