# operator: cublas::cublasSsyrk_v2
# style: fresh round of 2026-11-30
import triton
import triton.language as tl


@triton.jit
def load_panel(A, rows, cols, n, k, lda, TRANS: tl.constexpr):
    """op(A)[rows, cols] with zeros outside."""
    if TRANS:
        p = A + cols[None, :] + rows[:, None] * lda
    else:
        p = A + rows[:, None] + cols[None, :] * lda
    return tl.load(p, mask=(rows[:, None] < n) & (cols[None, :] < k), other=0.0)


@triton.jit
def syrk_kernel(n, k, alpha, A, lda, beta, C, ldc,
                LOWER: tl.constexpr, TRANS: tl.constexpr, USE_A: tl.constexpr, USE_C: tl.constexpr,
                TILE: tl.constexpr, DEPTH: tl.constexpr):
    big = tl.program_id(0)
    small = tl.program_id(1)
    # only tiles on or below the block diagonal do work; the upper triangle exchanges the roles
    if small > big:
        return
    if LOWER:
        bi = big
        bj = small
    else:
        bi = small
        bj = big
    ri = (bi * TILE + tl.arange(0, TILE)).to(tl.int64)
    rj = (bj * TILE + tl.arange(0, TILE)).to(tl.int64)
    acc = tl.zeros((TILE, TILE), dtype=tl.float32)
    if USE_A:
        for l0 in range(0, k, DEPTH):
            l = (l0 + tl.arange(0, DEPTH)).to(tl.int64)
            left = load_panel(A, ri, l, n, k, lda, TRANS)
            right = load_panel(A, rj, l, n, k, lda, TRANS)
            acc = tl.dot(left, tl.trans(right), acc, input_precision="ieee")
        acc = acc * alpha
    inside = (ri[:, None] < n) & (rj[None, :] < n)
    if LOWER:
        inside = inside & (ri[:, None] >= rj[None, :])
    else:
        inside = inside & (ri[:, None] <= rj[None, :])
    c = C + ri[:, None] + rj[None, :] * ldc
    if USE_C:
        acc += beta * tl.load(c, mask=inside, other=0.0)
    tl.store(c, acc, mask=inside)


def cublasSsyrk_v2(uplo, trans, n, k, alpha, A, lda, beta, C, ldc):
    if n == 0:
        return C
    if (alpha == 0 or k == 0) and beta == 1:
        return C
    TILE, DEPTH = 32, 32
    tiles = triton.cdiv(n, TILE)
    syrk_kernel[(tiles, tiles)](
        n, k, float(alpha), A, lda, float(beta), C, ldc,
        LOWER=uplo == 0, TRANS=trans != 0, USE_A=alpha != 0 and k > 0, USE_C=beta != 0,
        TILE=TILE, DEPTH=DEPTH, num_warps=4)
    return C
