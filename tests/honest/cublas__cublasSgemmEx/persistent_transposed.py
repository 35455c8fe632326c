# operator: cublas::cublasSgemmEx
# style: persistent kernel over output tiles computing the transposed row-major product, heuristics for the tile shape
import torch
import triton
import triton.language as tl

CUDA_R_32F = 0


@triton.heuristics(
    {
        "BR": lambda args: 64 if args["rows"] >= 128 else 32 if args["rows"] > 16 else 16,
        "BC": lambda args: 64 if args["cols"] >= 128 else 32 if args["cols"] > 16 else 16,
        "BD": lambda args: 32 if args["depth"] > 16 else 16,
    }
)
@triton.jit
def persistent_gemm(
    left, left_r, left_d,
    right, right_d, right_c,
    dest, dest_r,
    rows, cols, depth,
    alpha, beta,
    SCALE_OLD: tl.constexpr,
    BR: tl.constexpr, BC: tl.constexpr, BD: tl.constexpr,
):
    """dest[r, c] = alpha * sum over d of left[r, d] * right[d, c] + beta * dest[r, c], c consecutive in dest."""
    col_tiles = tl.cdiv(cols, BC)
    tiles = tl.cdiv(rows, BR) * col_tiles
    for tile in range(tl.program_id(0), tiles, tl.num_programs(0)):
        r = (tile // col_tiles).to(tl.int64) * BR + tl.arange(0, BR)
        c = (tile % col_tiles).to(tl.int64) * BC + tl.arange(0, BC)
        r_in = (r < rows)[:, None]
        c_in = (c < cols)[None, :]
        total = tl.zeros([BR, BC], dtype=tl.float32)
        for d0 in range(0, depth, BD):
            d = (d0 + tl.arange(0, BD)).to(tl.int64)
            lhs = tl.load(
                left + (r * left_r)[:, None] + (d * left_d)[None, :], mask=r_in & (d < depth)[None, :], other=0.0
            )
            rhs = tl.load(
                right + (d * right_d)[:, None] + (c * right_c)[None, :], mask=(d < depth)[:, None] & c_in, other=0.0
            )
            total = tl.dot(lhs, rhs, total, input_precision="ieee")
        total = total * alpha
        spot = dest + (r * dest_r)[:, None] + c[None, :]
        if SCALE_OLD:
            total += tl.load(spot, mask=r_in & c_in, other=0.0) * beta
        tl.store(spot, total, mask=r_in & c_in)


def _steps(transposed, ld):
    """Steps of op(X) along its rows and its columns."""
    return (ld, 1) if transposed else (1, ld)


def cublasSgemmEx(transa, transb, m, n, k, alpha, A, Atype, lda, B, Btype, ldb, beta, C, Ctype, ldc):
    if m <= 0 or n <= 0:
        return C
    a_row, a_col = _steps(transa != 0, lda)
    b_row, b_col = _steps(transb != 0, ldb)
    depth = k if alpha != 0 else 0
    # In rows, C by columns is C^T = op(B)^T op(A)^T.
    sms = torch.cuda.get_device_properties(C.device).multi_processor_count
    programs = min(2 * sms, triton.cdiv(n, 16) * triton.cdiv(m, 16))
    persistent_gemm[(programs,)](
        B, b_col, b_row,
        A, a_col, a_row,
        C, ldc,
        n, m, depth,
        float(alpha), float(beta),
        SCALE_OLD=beta != 0,
    )
    return C
