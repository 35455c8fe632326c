# SPDX-License-Identifier: MIT
"""The routines of cuBLAS that are operators here, as functions of the same arguments without the handle. On a GPU and in
a routine's own types it is cuBLAS that computes; elsewhere, and for the float64 truth, the formulas below.

Memory comes as 1-dimensional tensors. Of a batch by addresses a function gets, instead of addresses, the numbers of the
rows of the 2-dimensional tensors that come last. Results are written into the arguments, which are returned whole.
"""

import torch

TRANSPOSE, CONJUGATE = 1, 2
UPPER = 1
RIGHT = 1
UNIT = 1


# ---- sizes of terms ----

def terms(formula):
    """The formula of absolute values, but with the signs of increments."""
    def size(arg):
        if isinstance(arg, torch.Tensor) and (arg.is_floating_point() or arg.is_complex()):
            return arg.abs()
        return abs(arg) if isinstance(arg, (float, complex)) else arg

    return lambda *args: formula(*map(size, args))


# ---- what lies where ----

def matrix(memory, rows, columns, ld, at=0):
    """Stored by columns, from element `at` on."""
    return torch.as_strided(memory, (rows, columns), (1, ld), memory.storage_offset() + at)


def vector(memory, n, inc, at=0):
    """With a negative increment the first element comes last in memory."""
    values = torch.as_strided(memory, (n,), (abs(inc),), memory.storage_offset() + at)
    return values.flip(0) if inc < 0 else values


def set_vector(memory, n, inc, values, at=0):
    target = torch.as_strided(memory, (n,), (abs(inc),), memory.storage_offset() + at)
    target.copy_(values.flip(0) if inc < 0 else values)


def operated(values, operation):
    if operation == 0:
        return values
    return values.t().conj().resolve_conj() if operation == CONJUGATE else values.t()


def operand(memory, rows, columns, ld, operation, at=0):
    """The matrix of `rows` and `columns` that the operation makes of the stored one."""
    stored = (columns, rows) if operation else (rows, columns)
    return operated(matrix(memory, *stored, ld, at), operation)


def wide(values):
    """Sums of half-precision numbers are made in float32, and rounded once."""
    return values.float() if values.dtype == torch.float16 else values


def scaled_sum(alpha, values, beta, old):
    """alpha * values + beta * old, where nothing is read that a zero would cancel, or added to a zero of either sign."""
    if alpha == 0:
        return wide(old) * beta if beta != 0 else torch.zeros_like(values)
    return values * alpha + wide(old) * beta if beta != 0 else values * alpha


def triangle_of(values, uplo):
    return values.triu() if uplo == UPPER else values.tril()


def set_triangle(target, uplo, values):
    inside = triangle_of(torch.ones_like(target, dtype=torch.bool), uplo)
    target.copy_(torch.where(inside, values, target))


def symmetric(memory, n, ld, uplo):
    """From one triangle; the other one is not looked at."""
    stored = matrix(memory, n, n, ld)
    inside = triangle_of(torch.ones_like(stored, dtype=torch.bool), uplo)
    return torch.where(inside, stored, stored.t())


# ---- vectors ----

def copy(n, x, incx, y, incy):
    set_vector(y, n, incy, vector(x, n, incx))
    return y


def swap(n, x, incx, y, incy):
    old = vector(x, n, incx).clone()
    set_vector(x, n, incx, vector(y, n, incy))
    set_vector(y, n, incy, old)
    return x, y


def scal(n, alpha, x, incx):
    set_vector(x, n, incx, vector(x, n, incx) * alpha)
    return x


def axpy(n, alpha, x, incx, y, incy):
    if alpha != 0:
        set_vector(y, n, incy, vector(x, n, incx) * alpha + vector(y, n, incy))
    return y


def dot(n, x, incx, y, incy, result):
    result.copy_((vector(x, n, incx) * vector(y, n, incy)).sum().reshape(1))
    return result


def dotc(n, x, incx, y, incy, result):
    result.copy_((vector(x, n, incx).conj() * vector(y, n, incy)).sum().reshape(1))
    return result


def asum(n, x, incx, result):
    result.copy_(vector(x, n, incx).abs().sum().reshape(1))
    return result


# ---- matrices and vectors ----

def gemv_at(trans, m, n, alpha, a, at_a, lda, x, at_x, incx, beta, y, at_y, incy):
    if m == 0 or n == 0:
        return
    n_x, n_y = (m, n) if trans else (n, m)
    product = operated(matrix(a, m, n, lda, at_a), trans) @ vector(x, n_x, incx, at_x)
    set_vector(y, n_y, incy, scaled_sum(alpha, product, beta, vector(y, n_y, incy, at_y)), at_y)


def gemv(trans, m, n, alpha, a, lda, x, incx, beta, y, incy):
    gemv_at(trans, m, n, alpha, a, 0, lda, x, 0, incx, beta, y, 0, incy)
    return y


def gemv_strided(trans, m, n, alpha, a, lda, stride_a, x, incx, stride_x, beta, y, incy, stride_y, count):
    for i in range(count):
        gemv_at(trans, m, n, alpha, a, i * stride_a, lda, x, i * stride_x, incx, beta, y, i * stride_y, incy)
    return y


def gemv_array(trans, m, n, alpha, a_rows, lda, x_rows, incx, beta, y_rows, incy, count, a, x, y):
    for i, j, k in zip(a_rows.tolist(), x_rows.tolist(), y_rows.tolist()):
        gemv_at(trans, m, n, alpha, a[i], 0, lda, x[j], 0, incx, beta, y[k], 0, incy)
    return y


def ger(m, n, alpha, x, incx, y, incy, a, lda):
    if alpha != 0:
        matrix(a, m, n, lda).add_(torch.outer(vector(x, m, incx), vector(y, n, incy)) * alpha)
    return a


def gerc(m, n, alpha, x, incx, y, incy, a, lda):
    if alpha != 0:
        matrix(a, m, n, lda).add_(torch.outer(vector(x, m, incx), vector(y, n, incy).conj()) * alpha)
    return a


def syr2(uplo, n, alpha, x, incx, y, incy, a, lda):
    target = matrix(a, n, n, lda)
    product = torch.outer(vector(x, n, incx), vector(y, n, incy))
    if alpha != 0:
        set_triangle(target, uplo, target + (product + product.t()) * alpha)
    return a


def symv(uplo, n, alpha, a, lda, x, incx, beta, y, incy):
    product = symmetric(a, n, lda, uplo) @ vector(x, n, incx)
    set_vector(y, n, incy, scaled_sum(alpha, product, beta, vector(y, n, incy)))
    return y


def diagonals(memory, n, k, ld, uplo):
    """Of a band: (d, elements) for each diagonal d places beside the main one."""
    for d in range(min(k, n - 1) + 1):
        first = k - d + d * ld if uplo == UPPER else d
        yield d, torch.as_strided(memory, (n - d,), (ld,), memory.storage_offset() + first)


def sbmv(uplo, n, k, alpha, a, lda, x, incx, beta, y, incy):
    values = vector(x, n, incx)
    product = torch.zeros_like(values)
    for d, elements in diagonals(a, n, k, lda, uplo):
        product[:n - d] += elements * values[d:]
        if d > 0:
            product[d:] += elements * values[:n - d]
    set_vector(y, n, incy, scaled_sum(alpha, product, beta, vector(y, n, incy)))
    return y


def tbmv(uplo, trans, diag, n, k, a, lda, x, incx):
    values = vector(x, n, incx)
    product = torch.zeros_like(values)
    for d, elements in diagonals(a, n, k, lda, uplo):
        if d == 0 and diag == UNIT:
            product += values
        elif (uplo == UPPER) == (trans == 0):  # row i meets column i + d
            product[:n - d] += elements * values[d:]
        else:
            product[d:] += elements * values[:n - d]
    set_vector(x, n, incx, product)
    return x


# ---- matrices ----

def gemm_at(transa, transb, m, n, k, alpha, a, at_a, lda, b, at_b, ldb, beta, c, at_c, ldc):
    target = matrix(c, m, n, ldc, at_c)
    product = wide(operand(a, m, k, lda, transa, at_a)) @ wide(operand(b, k, n, ldb, transb, at_b))
    target.copy_(scaled_sum(alpha if k > 0 else 0, product, beta, target))


def gemm(transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc):
    gemm_at(transa, transb, m, n, k, alpha, a, 0, lda, b, 0, ldb, beta, c, 0, ldc)
    return c


def gemm_ex(transa, transb, m, n, k, alpha, a, a_type, lda, b, b_type, ldb, beta, c, c_type, ldc):
    return gemm(transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)


def gemm_strided(transa, transb, m, n, k, alpha, a, lda, stride_a, b, ldb, stride_b, beta, c, ldc, stride_c, count):
    for i in range(count):
        gemm_at(transa, transb, m, n, k, alpha, a, i * stride_a, lda, b, i * stride_b, ldb, beta, c, i * stride_c, ldc)
    return c


def gemm_array(transa, transb, m, n, k, alpha, a_rows, lda, b_rows, ldb, beta, c_rows, ldc, count, a, b, c):
    for i, j, r in zip(a_rows.tolist(), b_rows.tolist(), c_rows.tolist()):
        gemm(transa, transb, m, n, k, alpha, a[i], lda, b[j], ldb, beta, c[r], ldc)
    return c


def symm(side, uplo, m, n, alpha, a, lda, b, ldb, beta, c, ldc):
    factor = symmetric(a, n if side == RIGHT else m, lda, uplo)
    other, target = matrix(b, m, n, ldb), matrix(c, m, n, ldc)
    product = other @ factor if side == RIGHT else factor @ other
    target.copy_(scaled_sum(alpha, product, beta, target))
    return c


def syrk(uplo, trans, n, k, alpha, a, lda, beta, c, ldc):
    """Without conjugation; of real numbers operation 2 is 1."""
    factor = operand(a, n, k, lda, TRANSPOSE if trans else 0)
    target = matrix(c, n, n, ldc)
    set_triangle(target, uplo, scaled_sum(alpha if k > 0 else 0, factor @ factor.t(), beta, target))
    return c


def syrk_ex(uplo, trans, n, k, alpha, a, a_type, lda, beta, c, c_type, ldc):
    return syrk(uplo, trans, n, k, alpha, a, lda, beta, c, ldc)


def geam(transa, transb, m, n, alpha, a, lda, beta, b, ldb, c, ldc):
    left, right = operand(a, m, n, lda, transa), operand(b, m, n, ldb, transb)
    matrix(c, m, n, ldc).copy_(scaled_sum(alpha, left, beta, right))
    return c


def dgmm(side, m, n, a, lda, x, incx, c, ldc):
    values, factors = matrix(a, m, n, lda), vector(x, n if side == RIGHT else m, incx)
    matrix(c, m, n, ldc).copy_(values * (factors if side == RIGHT else factors.unsqueeze(1)))
    return c


# ---- triangular systems ----

def factor_of(uplo, trans, diag, n, a, lda):
    """The triangular matrix after its operation, and whether it is an upper one then."""
    stored = triangle_of(matrix(a, n, n, lda), uplo)
    if diag == UNIT:
        stored = stored.masked_fill(torch.eye(n, dtype=torch.bool, device=stored.device), 1)
    return operated(stored, trans), (uplo == UPPER) == (trans == 0)


def trsv(uplo, trans, diag, n, a, lda, x, incx):
    factor, upper = factor_of(uplo, trans, diag, n, a, lda)
    solution = torch.linalg.solve_triangular(factor, vector(x, n, incx).unsqueeze(1), upper=upper)
    set_vector(x, n, incx, solution.squeeze(1))
    return x


def trsm(side, uplo, trans, diag, m, n, alpha, a, lda, b, ldb):
    target = matrix(b, m, n, ldb)
    if alpha == 0:
        target.zero_()
        return b
    factor, upper = factor_of(uplo, trans, diag, n if side == RIGHT else m, a, lda)
    target.copy_(torch.linalg.solve_triangular(factor, target * alpha, upper=upper, left=side != RIGHT))
    return b


def trsm_array(side, uplo, trans, diag, m, n, alpha, a_rows, lda, b_rows, ldb, count, a, b):
    for i, j in zip(a_rows.tolist(), b_rows.tolist()):
        trsm(side, uplo, trans, diag, m, n, alpha, a[i], lda, b[j], ldb)
    return b


def growth(factor, upper):
    """|factor^-1| |factor|: how rounding in the terms of a solution comes out in the solution."""
    unit = torch.eye(factor.shape[0], dtype=factor.dtype, device=factor.device)
    return torch.linalg.solve_triangular(factor, unit, upper=upper).abs() @ factor.abs()


def trsv_terms(uplo, trans, diag, n, a, lda, x, incx):
    """Magnitudes of the result of trsv."""
    grown = growth(*factor_of(uplo, trans, diag, n, a, lda))
    solved = trsv(uplo, trans, diag, n, a, lda, x, incx).abs()
    set_vector(solved, n, incx, grown @ vector(solved, n, incx))
    return solved


def trsm_terms(side, uplo, trans, diag, m, n, alpha, a, lda, b, ldb):
    """Magnitudes of the result of trsm."""
    solved = trsm(side, uplo, trans, diag, m, n, alpha, a, lda, b, ldb).abs()
    if alpha == 0:
        return solved
    factor, upper = factor_of(uplo, trans, diag, n if side == RIGHT else m, a, lda)
    target = matrix(solved, m, n, ldb)
    target.copy_(target @ growth(factor.t(), not upper).t() if side == RIGHT else growth(factor, upper) @ target)
    return solved


def trsm_array_terms(side, uplo, trans, diag, m, n, alpha, a_rows, lda, b_rows, ldb, count, a, b):
    solved = b.abs()
    for i, j in zip(a_rows.tolist(), b_rows.tolist()):
        solved[j] = trsm_terms(side, uplo, trans, diag, m, n, alpha, a[i], lda, b[j], ldb)
    return solved


# ---- sizes of the terms of each formula ----

axpy_terms = terms(axpy)
dot_terms = terms(dot)
dotc_terms = terms(dotc)
gemv_terms = terms(gemv)
gemv_strided_terms = terms(gemv_strided)
gemv_array_terms = terms(gemv_array)
ger_terms = terms(ger)
gerc_terms = terms(gerc)
syr2_terms = terms(syr2)
symv_terms = terms(symv)
sbmv_terms = terms(sbmv)
tbmv_terms = terms(tbmv)
gemm_terms = terms(gemm)
gemm_strided_terms = terms(gemm_strided)
gemm_array_terms = terms(gemm_array)
symm_terms = terms(symm)
syrk_ex_terms = terms(syrk_ex)


# ---- the routines ----

def held(name, args):
    """The arguments that hold results: the last memory, both of a swap."""
    memory = [arg for arg in args if isinstance(arg, torch.Tensor)]
    return memory if "swap" in name else memory[-1:]


def addressed(args, n_arrays):
    """The arguments of a batch by addresses, as cuBLAS takes them: rows become addresses."""
    args, rows = list(args[:-n_arrays]), args[-n_arrays:]
    places = [i for i, arg in enumerate(args) if isinstance(arg, torch.Tensor)]
    for place, memory in zip(places, rows):
        args[place] = args[place] * (memory.stride(0) * memory.element_size()) + memory.data_ptr()
    return args


def routine(name, formula, n_arrays=0):
    def native(*args):
        import cublas
        if not cublas.is_native(args):
            return formula(*args)
        cublas.call(name, *(addressed(args, n_arrays) if n_arrays else args))
        return held(name, args)

    return native


def baseline(name, n_arrays):
    """Of a batch by addresses, where these are given."""
    def call(*args):
        import cublas
        cublas.call(name, *args[:-n_arrays])
        return held(name, args)

    return call


cublasCcopy_v2 = routine("cublasCcopy_v2", copy)
cublasDcopy_v2 = routine("cublasDcopy_v2", copy)
cublasZswap_v2 = routine("cublasZswap_v2", swap)
cublasSscal_v2 = routine("cublasSscal_v2", scal)
cublasSaxpy_v2 = routine("cublasSaxpy_v2", axpy)
cublasDaxpy_v2 = routine("cublasDaxpy_v2", axpy)
cublasSdot_v2 = routine("cublasSdot_v2", dot)
cublasCdotu_v2 = routine("cublasCdotu_v2", dot)
cublasZdotc_v2 = routine("cublasZdotc_v2", dotc)
cublasDasum_v2 = routine("cublasDasum_v2", asum)
cublasCgemv_v2 = routine("cublasCgemv_v2", gemv)
cublasDgemv_v2 = routine("cublasDgemv_v2", gemv)
cublasSger_v2 = routine("cublasSger_v2", ger)
cublasCgeru_v2 = routine("cublasCgeru_v2", ger)
cublasZgerc_v2 = routine("cublasZgerc_v2", gerc)
cublasDsyr2_v2 = routine("cublasDsyr2_v2", syr2)
cublasCsymv_v2 = routine("cublasCsymv_v2", symv)
cublasDsbmv_v2 = routine("cublasDsbmv_v2", sbmv)
cublasStbmv_v2 = routine("cublasStbmv_v2", tbmv)
cublasStrsv_v2 = routine("cublasStrsv_v2", trsv)
cublasSgemvStridedBatched = routine("cublasSgemvStridedBatched", gemv_strided)
cublasDgemvStridedBatched = routine("cublasDgemvStridedBatched", gemv_strided)
cublasCgemvStridedBatched = routine("cublasCgemvStridedBatched", gemv_strided)
cublasZgemvStridedBatched = routine("cublasZgemvStridedBatched", gemv_strided)
cublasSgemvBatched = routine("cublasSgemvBatched", gemv_array, 3)
cublasDgemvBatched = routine("cublasDgemvBatched", gemv_array, 3)
cublasZgemvBatched = routine("cublasZgemvBatched", gemv_array, 3)
cublasCgemvBatched_64 = routine("cublasCgemvBatched_64", gemv_array, 3)
cublasSgemm_v2 = routine("cublasSgemm_v2", gemm)
cublasCgemm_v2 = routine("cublasCgemm_v2", gemm)
cublasSgemmEx = routine("cublasSgemmEx", gemm_ex)
cublasSgemmStridedBatched = routine("cublasSgemmStridedBatched", gemm_strided)
cublasDgemmStridedBatched = routine("cublasDgemmStridedBatched", gemm_strided)
cublasCgemmStridedBatched = routine("cublasCgemmStridedBatched", gemm_strided)
cublasZgemmStridedBatched = routine("cublasZgemmStridedBatched", gemm_strided)
cublasHgemmStridedBatched = routine("cublasHgemmStridedBatched", gemm_strided)
cublasDgemmStridedBatched_64 = routine("cublasDgemmStridedBatched_64", gemm_strided)
cublasCgemmStridedBatched_64 = routine("cublasCgemmStridedBatched_64", gemm_strided)
cublasDgemmBatched = routine("cublasDgemmBatched", gemm_array, 3)
cublasHgemmBatched = routine("cublasHgemmBatched", gemm_array, 3)
cublasZgemmBatched = routine("cublasZgemmBatched", gemm_array, 3)
cublasSgemmBatched_64 = routine("cublasSgemmBatched_64", gemm_array, 3)
cublasCsymm_v2 = routine("cublasCsymm_v2", symm)
cublasSsyrk_v2 = routine("cublasSsyrk_v2", syrk)
cublasCsyrkEx = routine("cublasCsyrkEx", syrk_ex)
cublasStrsm_v2 = routine("cublasStrsm_v2", trsm)
cublasDtrsmBatched = routine("cublasDtrsmBatched", trsm_array, 2)
cublasZtrsmBatched = routine("cublasZtrsmBatched", trsm_array, 2)
cublasSgeam = routine("cublasSgeam", geam)
cublasSdgmm = routine("cublasSdgmm", dgmm)

cublasSgemvBatched_call = baseline("cublasSgemvBatched", 3)
cublasDgemvBatched_call = baseline("cublasDgemvBatched", 3)
cublasZgemvBatched_call = baseline("cublasZgemvBatched", 3)
cublasCgemvBatched_64_call = baseline("cublasCgemvBatched_64", 3)
cublasDgemmBatched_call = baseline("cublasDgemmBatched", 3)
cublasHgemmBatched_call = baseline("cublasHgemmBatched", 3)
cublasZgemmBatched_call = baseline("cublasZgemmBatched", 3)
cublasSgemmBatched_64_call = baseline("cublasSgemmBatched_64", 3)
cublasDtrsmBatched_call = baseline("cublasDtrsmBatched", 2)
cublasZtrsmBatched_call = baseline("cublasZtrsmBatched", 2)
