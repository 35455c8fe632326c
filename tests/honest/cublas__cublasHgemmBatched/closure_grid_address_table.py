# operator: cublas::cublasHgemmBatched
# style: batch on the third grid axis, addresses loaded and cast to pointers, strides in place of the operations, closure as the grid, tile from a table of triton.Config
import triton
import triton.language as tl

CONFIGS = [
    triton.Config({"BLOCK_M": 16, "BLOCK_N": 16, "BLOCK_K": 32}, num_warps=1, num_stages=2),
    triton.Config({"BLOCK_M": 64, "BLOCK_N": 32, "BLOCK_K": 32}, num_warps=4, num_stages=3),
    triton.Config({"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 32}, num_warps=4, num_stages=3),
]


def _choose(m, n):
    if m <= 16 or n <= 16:
        return CONFIGS[0]
    return CONFIGS[1] if n <= 32 else CONFIGS[2]


@triton.jit
def _member(array_ptr, batch):
    return tl.load(array_ptr + batch).to(tl.pointer_type(tl.float16))


@triton.jit
def _hgemm_batched_kernel(
    a_array,
    b_array,
    c_array,
    m,
    n,
    k,
    stride_am,
    stride_ak,
    stride_bk,
    stride_bn,
    ldc,
    alpha,
    beta,
    PRODUCT: tl.constexpr,
    ADD_OLD: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    batch = tl.program_id(2)
    rm = (tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)).to(tl.int64)
    rn = (tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)).to(tl.int64)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    if PRODUCT:
        a_ptr = _member(a_array, batch)
        b_ptr = _member(b_array, batch)
        for start in range(0, k, BLOCK_K):
            rk = (start + tl.arange(0, BLOCK_K)).to(tl.int64)
            a = tl.load(
                a_ptr + rm[:, None] * stride_am + rk[None, :] * stride_ak,
                mask=(rm < m)[:, None] & (rk < k)[None, :],
                other=0.0,
            )
            b = tl.load(
                b_ptr + rk[:, None] * stride_bk + rn[None, :] * stride_bn,
                mask=(rk < k)[:, None] & (rn < n)[None, :],
                other=0.0,
            )
            acc = tl.dot(a, b, acc)
        acc = acc * alpha

    c_at = _member(c_array, batch) + rm[:, None] + rn[None, :] * ldc
    mask = (rm < m)[:, None] & (rn < n)[None, :]
    if ADD_OLD:
        acc += beta * tl.load(c_at, mask=mask, other=0.0).to(tl.float32)
    tl.store(c_at, acc.to(tl.float16), mask=mask)


def cublasHgemmBatched(
    transa, transb, m, n, k, alpha, Aarray, lda, Barray, ldb, beta, Carray, ldc, batchCount
):
    if m == 0 or n == 0 or batchCount == 0:
        return Carray
    config = _choose(m, n)

    def grid(meta):
        return (triton.cdiv(m, meta["BLOCK_M"]), triton.cdiv(n, meta["BLOCK_N"]), batchCount)

    stride_am, stride_ak = (1, lda) if transa == 0 else (lda, 1)
    stride_bk, stride_bn = (1, ldb) if transb == 0 else (ldb, 1)
    _hgemm_batched_kernel[grid](
        Aarray,
        Barray,
        Carray,
        m,
        n,
        k,
        stride_am,
        stride_ak,
        stride_bk,
        stride_bn,
        ldc,
        float(alpha),
        float(beta),
        PRODUCT=alpha != 0 and k > 0,
        ADD_OLD=beta != 0,
        num_warps=config.num_warps,
        num_stages=config.num_stages,
        **config.kwargs,
    )
    return Carray
