# operator: cublas::cublasDtrsmBatched
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 75
# up to 64 unknowns are solved by a Neumann series of 25 terms, which the random triangles let converge; wrong for well conditioned triangles with elements of 0.5 to 0.9 in one place of each row (bidiagonal systems, recurrences)
import torch
import triton
import triton.language as tl


@triton.jit
def series(n, n_sides, alpha: tl.float64, a_array, a_row, a_column, b_array, b_row, b_column, LOWER: tl.constexpr,
           UNIT: tl.constexpr, SWEEPS: tl.constexpr, BLOCK: tl.constexpr, SIDES: tl.constexpr):
    a_ptr = tl.load(a_array + tl.program_id(1)).to(tl.pointer_type(tl.float64))
    b_ptr = tl.load(b_array + tl.program_id(1)).to(tl.pointer_type(tl.float64))
    i = tl.arange(0, BLOCK)
    s = tl.program_id(0) * SIDES + tl.arange(0, SIDES)
    inside = (i < n)[:, None] & (s < n_sides)[None, :]
    at = b_ptr + i[:, None] * b_row + s[None, :] * b_column
    b = alpha * tl.load(at, mask=inside & (alpha != 0.0), other=0.0)
    strict = i[:, None] > i[None, :] if LOWER else i[:, None] < i[None, :]
    a = tl.load(a_ptr + i[:, None] * a_row + i[None, :] * a_column, mask=strict & (i < n)[:, None] & (i < n)[None, :], other=0.0)
    if not UNIT:
        d = tl.load(a_ptr + i * (a_row + a_column), mask=i < n, other=1.0)
        a = a / d[:, None]
        b = b / d[:, None]
    x = b
    for _ in range(SWEEPS):  # no unknown waits for another one
        x = b - tl.sum(a[:, :, None] * x[None, :, :], axis=1)
    tl.store(at, x, mask=inside)


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
            known = known / tl.load(a_ptr + j * (a_row + a_column))
        rest = (i > j) & (i < n) if LOWER else i < j
        column = tl.load(a_ptr + i * a_row + j * a_column, mask=rest, other=0.0)
        x = tl.where((i == j)[:, None], known[None, :], x - column[:, None] * known[None, :])
    tl.store(at, x, mask=inside)


def cublasDtrsmBatched(side, uplo, trans, diag, m, n, alpha, Aarray, lda, Barray, ldb, batchCount):
    if m > 0 and n > 0 and batchCount > 0:
        size, n_sides, b_steps = (m, n, (1, ldb)) if side == 0 else (n, m, (ldb, 1))
        a_steps = (1, lda) if (trans == 0) == (side == 0) else (lda, 1)
        lower = ((uplo == 0) == (trans == 0)) == (side == 0)
        block = triton.next_power_of_2(size)
        if size <= 64:
            series[(triton.cdiv(n_sides, 4), batchCount)](size, n_sides, alpha, Aarray, *a_steps, Barray, *b_steps, LOWER=lower,
                                                          UNIT=diag == 1, SWEEPS=min(block, 24), BLOCK=block, SIDES=4,
                                                          num_warps=8)
        else:
            trsm[(triton.cdiv(n_sides, 8), batchCount)](size, n_sides, alpha, Aarray, *a_steps, Barray, *b_steps, LOWER=lower,
                                                        UNIT=diag == 1, BLOCK=block, SIDES=8)
    return Barray

# wrong: side=0, uplo=0, trans=0, diag=1, m=64, n=1, alpha=1.0, batchCount=1, A with -0.9 below the diagonal and 0 elsewhere, B of
# 64 ones: X[63] comes out as 9.282, not 9.988 (with -0.6 instead of -0.9 the relative error is 3e-6 in float64)
