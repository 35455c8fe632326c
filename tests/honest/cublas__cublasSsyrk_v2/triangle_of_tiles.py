# operator: cublas::cublasSsyrk_v2
# style: square tiles on a 2-D grid, programs off the triangle do nothing, triangle mask on the diagonal tiles
import triton
import triton.language as tl

LOWER, UPPER = 0, 1


@triton.jit
def syrk_kernel(
    a_ptr, step_n, step_k, c_ptr, ldc, n, k, alpha, beta, tiles,
    IS_LOWER: tl.constexpr, HAS_BETA: tl.constexpr, TILE: tl.constexpr, DEPTH: tl.constexpr,
):
    pid = tl.program_id(0).to(tl.int64)
    ti = pid % tiles
    tj = pid // tiles
    if IS_LOWER:
        wanted = ti >= tj
    else:
        wanted = ti <= tj
    if wanted:
        i = ti * TILE + tl.arange(0, TILE)
        j = tj * TILE + tl.arange(0, TILE)
        acc = tl.zeros([TILE, TILE], dtype=tl.float32)
        for k0 in range(0, k, DEPTH):
            p = (k0 + tl.arange(0, DEPTH)).to(tl.int64)
            rows = tl.load(
                a_ptr + (i * step_n)[:, None] + (p * step_k)[None, :],
                mask=(i < n)[:, None] & (p < k)[None, :],
                other=0.0,
            )
            cols = tl.load(
                a_ptr + (p * step_k)[:, None] + (j * step_n)[None, :],
                mask=(p < k)[:, None] & (j < n)[None, :],
                other=0.0,
            )
            acc += tl.dot(rows, cols, input_precision="ieee")
        if IS_LOWER:
            half = i[:, None] >= j[None, :]
        else:
            half = i[:, None] <= j[None, :]
        mask = half & (i < n)[:, None] & (j < n)[None, :]
        c_at = c_ptr + i[:, None] + (j * ldc)[None, :]
        value = acc * alpha
        if HAS_BETA:
            value = value + tl.load(c_at, mask=mask, other=0.0) * beta
        tl.store(c_at, value, mask=mask)


def cublasSsyrk_v2(uplo, trans, n, k, alpha, A, lda, beta, C, ldc):
    if n == 0:
        return C
    step_n, step_k = (lda, 1) if trans else (1, lda)
    tile = 16 if n <= 16 else 32
    tiles = triton.cdiv(n, tile)
    syrk_kernel[(tiles * tiles,)](
        A, step_n, step_k, C, ldc, n, k if alpha != 0 else 0, float(alpha), float(beta), tiles,
        IS_LOWER=uplo == LOWER, HAS_BETA=beta != 0, TILE=tile, DEPTH=32,
    )
    return C
