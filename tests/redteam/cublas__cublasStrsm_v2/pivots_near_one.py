# operator: cublas::cublasStrsm_v2
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79
# multiplies by a reciprocal from five steps of Newton, which converge for diagonals near 1 only; wrong: any triangle with a
# diagonal element of 10 or 0.01 or -1
import torch
import triton
import triton.language as tl


@triton.jit
def trsm(n, n_sides, alpha, a_ptr, a_row, a_column, b_ptr, b_row, b_column, LOWER: tl.constexpr, UNIT: tl.constexpr,
         BLOCK: tl.constexpr, SIDES: tl.constexpr):
    i = tl.arange(0, BLOCK)
    s = tl.program_id(0) * SIDES + tl.arange(0, SIDES)
    inside = (i < n)[:, None] & (s < n_sides)[None, :]
    at = b_ptr + i[:, None] * b_row + s[None, :] * b_column
    x = alpha * tl.load(at, mask=inside & (alpha != 0.0), other=0.0)
    for step in range(0, n if alpha != 0.0 else 0):
        j = step if LOWER else n - 1 - step
        known = tl.sum(tl.where((i == j)[:, None], x, 0.0), axis=0)
        if not UNIT:
            pivot = tl.load(a_ptr + j * (a_row + a_column))
            r = 48.0 / 17.0 / 2.0 - pivot * (32.0 / 17.0 / 4.0)
            for _ in tl.static_range(5):
                r = r * (2.0 - pivot * r)
            known = known * r
        rest = (i > j) & (i < n) if LOWER else i < j
        column = tl.load(a_ptr + i * a_row + j * a_column, mask=rest, other=0.0)
        x = tl.where((i == j)[:, None], known[None, :], x - column[:, None] * known[None, :])
    tl.store(at, x, mask=inside)


def cublasStrsm_v2(side, uplo, trans, diag, m, n, alpha, A, lda, B, ldb):
    if m > 0 and n > 0:
        size, n_sides, b_steps = (m, n, (1, ldb)) if side == 0 else (n, m, (ldb, 1))
        a_steps = (1, lda) if (trans == 0) == (side == 0) else (lda, 1)
        lower = ((uplo == 0) == (trans == 0)) == (side == 0)
        sides = 64 if size <= 128 else 4
        trsm[(triton.cdiv(n_sides, sides),)](size, n_sides, alpha, A, *a_steps, B, *b_steps, LOWER=lower, UNIT=diag == 1,
                                          BLOCK=triton.next_power_of_2(size), SIDES=sides)
    return B
