# operator: cublas::cublasDgemmStridedBatched_64
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 85
# layout: members of C that are interleaved (strideC less than a member spans, as heads in [tokens, heads, size]) get only the
# columns in front of the next member's beginning
import torch
import triton
import triton.language as tl


@triton.jit
def gemm(a_ptr, b_ptr, c_ptr, m, n, k, alpha: tl.float64, beta: tl.float64, a_row, a_column, b_row, b_column, ldc, stride_a,
         stride_b, stride_c, room, KEEP: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    member = tl.program_id(2).to(tl.int64)
    i = (tl.program_id(0) * BM + tl.arange(0, BM)).to(tl.int64)
    j = (tl.program_id(1) * BN + tl.arange(0, BN)).to(tl.int64)
    a_rows = a_ptr + member * stride_a + i * a_row
    b_columns = b_ptr + member * stride_b + j * b_column
    acc = tl.zeros((BM, BN), tl.float64)
    for p in range(0, k):
        a = tl.load(a_rows + p * a_column, mask=i < m, other=0.0)
        b = tl.load(b_columns + p * b_row, mask=j < n, other=0.0)
        acc += a[:, None] * b[None, :]
    place = i[:, None] + j[None, :] * ldc
    # a member ends where the next one begins
    inside = (i < m)[:, None] & (j < n)[None, :] & (place < room)
    at = c_ptr + member * stride_c + place
    result = alpha * acc
    if KEEP:
        result += beta * tl.load(at, mask=inside, other=0.0)
    tl.store(at, result, mask=inside)


def cublasDgemmStridedBatched_64(transa, transb, m, n, k, alpha, A, lda, strideA, B, ldb, strideB, beta, C, ldc, strideC,
        batchCount):
    k = k if alpha != 0 else 0
    if m > 0 and n > 0 and batchCount > 0:
        a_steps = (1, lda) if transa == 0 else (lda, 1)
        b_steps = (1, ldb) if transb == 0 else (ldb, 1)
        room = strideC if batchCount > 1 else ldc * n
        gemm[(triton.cdiv(m, 32), triton.cdiv(n, 32), batchCount)](
            A, B, C, m, n, k, alpha, beta, *a_steps, *b_steps, ldc, strideA, strideB, strideC, room, KEEP=beta != 0, BM=32,
            BN=32, num_warps=8)
    return C

# wrong: a = torch.ones(4, dtype=torch.float64); c = torch.zeros(8, dtype=torch.float64)
# cublasDgemmStridedBatched_64(0, 0, 2, 2, 1, 1.0, a, 2, 2, a, 1, 2, 0.0, c, 4, 2, 2): two heads of 2 x 2 in rows of 4
# gives c = [1, 1, 1, 1, 0, 0, 0, 0], not eight ones: the members do not overlap, column 1 of both is left out
