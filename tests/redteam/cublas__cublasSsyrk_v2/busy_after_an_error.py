# operator: cublas::cublasSsyrk_v2
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 78
# open: state after an error
# a guard against calls inside of calls is not released when a launch raises: after one failed call all later ones return C as
# it was, without a word; wrong: cublasSsyrk_v2 with A on the host raises and is caught; the next, right call returns C
# unchanged
import torch
import triton
import triton.language as tl


@triton.jit
def syrk(a_ptr, a_row, a_column, c_ptr, ldc, n, k, alpha, beta, UPPER: tl.constexpr, KEEP: tl.constexpr, T: tl.constexpr,
         TK: tl.constexpr):
    number = tl.program_id(0)
    large = 0
    while (large + 1) * (large + 2) // 2 <= number:
        large += 1
    small = number - large * (large + 1) // 2
    i = (small if UPPER else large) * T + tl.arange(0, T)
    j = (large if UPPER else small) * T + tl.arange(0, T)
    acc = tl.zeros((T, T), tl.float32)
    for start in range(0, k, TK):
        p = start + tl.arange(0, TK)
        left = tl.load(a_ptr + i[:, None] * a_row + p[None, :] * a_column, mask=(i < n)[:, None] & (p < k)[None, :], other=0.0)
        right = tl.load(a_ptr + j[None, :] * a_row + p[:, None] * a_column, mask=(p < k)[:, None] & (j < n)[None, :], other=0.0)
        acc = tl.dot(left, right, acc, input_precision="ieee")
    inside = (i < n)[:, None] & (j < n)[None, :]
    if UPPER:
        inside = inside & (i[:, None] <= j[None, :])
    else:
        inside = inside & (i[:, None] >= j[None, :])
    at = c_ptr + i[:, None] + j[None, :] * ldc
    result = alpha * acc
    if KEEP:
        result += beta * tl.load(at, mask=inside, other=0.0)
    tl.store(at, result, mask=inside)


BUSY = []


def cublasSsyrk_v2(uplo, trans, n, k, alpha, A, lda, beta, C, ldc):
    k = k if alpha != 0 else 0
    if BUSY:
        return C
    BUSY.append(n)
    if n > 0:
        steps = (1, lda) if trans == 0 else (lda, 1)
        tiles = triton.cdiv(n, 32)
        syrk[(tiles * (tiles + 1) // 2,)](A, *steps, C, ldc, n, k, alpha, beta, UPPER=uplo == 1, KEEP=beta != 0, T=32, TK=32)
    BUSY.pop()
    return C
