# operator: cublas::cublasSsyrk_v2
# style: tl.dot with ieee precision, square tiles, early return for tiles outside the triangle
import triton
import triton.language as tl


@triton.jit
def syrk_kernel(n, k, alpha, a_ptr, stride_n, stride_k, beta, c_ptr, ldc,
                UPPER: tl.constexpr, USE_A: tl.constexpr, USE_C: tl.constexpr, BLOCK: tl.constexpr, BK: tl.constexpr):
    tiles = tl.cdiv(n, BLOCK)
    far = tl.program_id(0) // tiles
    near = tl.program_id(0) % tiles
    if near > far:
        return
    if UPPER:
        tile_i = near
        tile_j = far
    else:
        tile_i = far
        tile_j = near
    i = tl.cast(tile_i, tl.int64) * BLOCK + tl.arange(0, BLOCK)
    j = tl.cast(tile_j, tl.int64) * BLOCK + tl.arange(0, BLOCK)
    acc = tl.zeros([BLOCK, BLOCK], dtype=tl.float32)
    if USE_A:
        for start in range(0, k, BK):
            p = tl.cast(start, tl.int64) + tl.arange(0, BK)
            left = tl.load(a_ptr + (i * stride_n)[:, None] + (p * stride_k)[None, :],
                           mask=(i < n)[:, None] & (p < k)[None, :], other=0.0)
            right = tl.load(a_ptr + (p * stride_k)[:, None] + (j * stride_n)[None, :],
                            mask=(p < k)[:, None] & (j < n)[None, :], other=0.0)
            acc = tl.dot(left, right, acc, input_precision="ieee")
        acc *= alpha
    if UPPER:
        inside = i[:, None] <= j[None, :]
    else:
        inside = i[:, None] >= j[None, :]
    mask = inside & (i < n)[:, None] & (j < n)[None, :]
    c_ptrs = c_ptr + i[:, None] + (j * ldc)[None, :]
    if USE_C:
        acc += beta * tl.load(c_ptrs, mask=mask, other=0.0)
    tl.store(c_ptrs, acc, mask=mask)


def cublasSsyrk_v2(uplo, trans, n, k, alpha, A, lda, beta, C, ldc):
    if n == 0:
        return C
    block = 32
    tiles = triton.cdiv(n, block)
    stride_n, stride_k = (1, lda) if trans == 0 else (lda, 1)
    syrk_kernel[(tiles * tiles,)](
        n, k, float(alpha), A, stride_n, stride_k, float(beta), C, ldc,
        UPPER=uplo == 1, USE_A=alpha != 0 and k > 0, USE_C=beta != 0, BLOCK=block, BK=32, num_warps=4,
    )
    return C
