# operator: cublas::cublasSgeam
# style: 2D tiles with steps of rows and columns swapped for a transpose, flags for what is read
import triton
import triton.language as tl


@triton.jit
def geam_kernel(a_ptr, b_ptr, c_ptr, m, n, alpha, beta, a_row, a_col, b_row, b_col, ldc, READ_A: tl.constexpr,
                READ_B: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    tiles_m = tl.cdiv(m, BLOCK_M)
    pid = tl.program_id(0)
    i = ((pid % tiles_m) * BLOCK_M + tl.arange(0, BLOCK_M)).to(tl.int64)[:, None]
    j = ((pid // tiles_m) * BLOCK_N + tl.arange(0, BLOCK_N)).to(tl.int64)[None, :]
    mask = (i < m) & (j < n)
    acc = tl.zeros([BLOCK_M, BLOCK_N], dtype=tl.float32)
    if READ_A:
        acc = alpha * tl.load(a_ptr + i * a_row + j * a_col, mask=mask, other=0.0)
    if READ_B:
        acc += beta * tl.load(b_ptr + i * b_row + j * b_col, mask=mask, other=0.0)
    tl.store(c_ptr + i + j * ldc, acc, mask=mask)


def cublasSgeam(transa, transb, m, n, alpha, A, lda, beta, B, ldb, C, ldc):
    if m <= 0 or n <= 0:
        return C
    a_row, a_col = (1, lda) if transa == 0 else (lda, 1)
    b_row, b_col = (1, ldb) if transb == 0 else (ldb, 1)
    block_m = 64 if m >= 64 else max(16, triton.next_power_of_2(m))
    block_n = 32
    grid = (triton.cdiv(m, block_m) * triton.cdiv(n, block_n),)
    geam_kernel[grid](A, B, C, m, n, float(alpha), float(beta), a_row, a_col, b_row, b_col, ldc,
                      READ_A=alpha != 0, READ_B=beta != 0, BLOCK_M=block_m, BLOCK_N=block_n)
    return C
