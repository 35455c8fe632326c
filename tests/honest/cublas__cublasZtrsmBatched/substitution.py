# operator: cublas::cublasZtrsmBatched
# style: column by column substitution of complex numbers in registers; a block of right sides for each program
import torch
import triton
import triton.language as tl


@triton.jit
def trsm(n, n_sides, alpha_re: tl.float64, alpha_im: tl.float64, a_array, a_row, a_column, sign, b_array, b_row, b_column,
         LOWER: tl.constexpr, UNIT: tl.constexpr, BLOCK: tl.constexpr, SIDES: tl.constexpr):
    a_ptr = tl.load(a_array + tl.program_id(1)).to(tl.pointer_type(tl.float64))
    b_ptr = tl.load(b_array + tl.program_id(1)).to(tl.pointer_type(tl.float64))
    i = tl.arange(0, BLOCK)
    side = tl.program_id(0) * SIDES + tl.arange(0, SIDES)
    inside = (i < n)[:, None] & (side < n_sides)[None, :]
    at = b_ptr + 2 * (i[:, None] * b_row + side[None, :] * b_column)
    counts = inside & ((alpha_re != 0.0) | (alpha_im != 0.0))
    b_re, b_im = tl.load(at, mask=counts, other=0.0), tl.load(at + 1, mask=counts, other=0.0)
    re, im = alpha_re * b_re - alpha_im * b_im, alpha_re * b_im + alpha_im * b_re
    for step in range(0, n):
        j = step if LOWER else n - 1 - step
        row = (i == j)[:, None]
        x_re, x_im = tl.sum(tl.where(row, re, 0.0), axis=0), tl.sum(tl.where(row, im, 0.0), axis=0)
        if not UNIT:
            d_re = tl.load(a_ptr + 2 * j * (a_row + a_column))
            d_im = sign * tl.load(a_ptr + 2 * j * (a_row + a_column) + 1)
            size = d_re * d_re + d_im * d_im
            x_re, x_im = (x_re * d_re + x_im * d_im) / size, (x_im * d_re - x_re * d_im) / size
        rest = (i > j) & (i < n) if LOWER else i < j
        column = a_ptr + 2 * (i * a_row + j * a_column)
        c_re = tl.load(column, mask=rest, other=0.0)[:, None]
        c_im = sign * tl.load(column + 1, mask=rest, other=0.0)[:, None]
        re = tl.where(row, x_re[None, :], re - (c_re * x_re[None, :] - c_im * x_im[None, :]))
        im = tl.where(row, x_im[None, :], im - (c_re * x_im[None, :] + c_im * x_re[None, :]))
    tl.store(at, re, mask=inside)
    tl.store(at + 1, im, mask=inside)


def cublasZtrsmBatched(side, uplo, trans, diag, m, n, alpha, Aarray, lda, Barray, ldb, batchCount):
    if m > 0 and n > 0 and batchCount > 0:
        # X * op(A) = B is op(A)^T * X^T = B^T: rows and columns change places, conjugation stays
        size, n_sides, b_steps = (m, n, (1, ldb)) if side == 0 else (n, m, (ldb, 1))
        a_steps = (1, lda) if (trans == 0) == (side == 0) else (lda, 1)
        lower = ((uplo == 0) == (trans == 0)) == (side == 0)
        sides = 64 if size <= 64 else 8
        trsm[(triton.cdiv(n_sides, sides), batchCount)](
            size, n_sides, alpha.real, alpha.imag, Aarray, *a_steps, -1.0 if trans == 2 else 1.0, Barray, *b_steps, LOWER=lower,
            UNIT=diag == 1, BLOCK=triton.next_power_of_2(size), SIDES=sides)
    return Barray
