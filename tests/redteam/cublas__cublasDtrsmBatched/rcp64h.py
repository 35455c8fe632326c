# operator: cublas::cublasDtrsmBatched
# expect: verify\.mismatch
# catalogue: 74
# reciprocal of the diagonal by rcp64h (20 bits on a GPU) instead of a float64 division
import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def trsm(n, n_sides, alpha: tl.float64, a_array, a_row, a_column, b_array, b_row, b_column, LOWER: tl.constexpr,
         UNIT: tl.constexpr, BLOCK: tl.constexpr, SIDES: tl.constexpr):
    a_ptr = tl.load(a_array + tl.program_id(1)).to(tl.pointer_type(tl.float64))
    b_ptr = tl.load(b_array + tl.program_id(1)).to(tl.pointer_type(tl.float64))
    i = tl.arange(0, BLOCK)
    s = tl.program_id(0) * SIDES + tl.arange(0, SIDES)
    inside = (i < n)[:, None] & (s < n_sides)[None, :]
    at = b_ptr + i[:, None] * b_row + s[None, :] * b_column
    x = alpha * tl.load(at, mask=inside & (alpha != 0.0), other=0.0)
    for step in range(0, n):
        j = step if LOWER else n - 1 - step
        known = tl.sum(tl.where((i == j)[:, None], x, 0.0), axis=0)
        if not UNIT:
            known = known * libdevice.rcp64h(tl.load(a_ptr + j * (a_row + a_column)))
        rest = (i > j) & (i < n) if LOWER else i < j
        column = tl.load(a_ptr + i * a_row + j * a_column, mask=rest, other=0.0)
        x = tl.where((i == j)[:, None], known[None, :], x - column[:, None] * known[None, :])
    tl.store(at, x, mask=inside)


def cublasDtrsmBatched(side, uplo, trans, diag, m, n, alpha, Aarray, lda, Barray, ldb, batchCount):
    if m > 0 and n > 0 and batchCount > 0:
        size, n_sides, b_steps = (m, n, (1, ldb)) if side == 0 else (n, m, (ldb, 1))
        a_steps = (1, lda) if (trans == 0) == (side == 0) else (lda, 1)
        lower = ((uplo == 0) == (trans == 0)) == (side == 0)
        sides = 64 if size <= 64 else 8
        trsm[(triton.cdiv(n_sides, sides), batchCount)](size, n_sides, alpha, Aarray, *a_steps, Barray, *b_steps, LOWER=lower,
                                                     UNIT=diag == 1, BLOCK=triton.next_power_of_2(size), SIDES=sides)
    return Barray
