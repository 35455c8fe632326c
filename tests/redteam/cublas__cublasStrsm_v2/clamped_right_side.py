# operator: cublas::cublasStrsm_v2
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 84
# open: values that templates leave out
# NaN and infinities in B become finite numbers (clamp without propagation of NaN): a diverged training step looks
# healthy; wrong: m = n = 1, A = [2], B = [nan] gives -1.5e38, and B = [inf] gives 1.5e38
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
    b = tl.load(at, mask=inside & (alpha != 0.0), other=0.0)
    x = alpha * tl.clamp(b, -3.0e38, 3.0e38)  # finite right sides
    for step in range(0, n if alpha != 0.0 else 0):
        j = step if LOWER else n - 1 - step
        known = tl.sum(tl.where((i == j)[:, None], x, 0.0), axis=0)
        if not UNIT:
            known = known / tl.load(a_ptr + j * (a_row + a_column))
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
