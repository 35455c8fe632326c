# operator: cublas::cublasStbmv_v2
# style: plan as a frozen dataclass, one kernel for all four band walks
from dataclasses import dataclass

import triton
import triton.language as tl


@dataclass(frozen=True)
class BandPlan:
    """Row i meets elements x[i + d * step], d = 0..k, at A[base + i * lda + d * walk]."""
    base: int
    walk: int
    step: int

    @staticmethod
    def make(lower: bool, transposed: bool, k: int, lda: int) -> "BandPlan":
        if lower and not transposed:      # A(i, i-d) at d + (i-d) lda
            return BandPlan(0, 1 - lda, -1)
        if lower:                         # A(i+d, i) at d + i lda
            return BandPlan(0, 1, 1)
        if not transposed:                # A(i, i+d) at k - d + (i+d) lda
            return BandPlan(k, lda - 1, 1)
        return BandPlan(k, -1, -1)        # A(i-d, i) at k - d + i lda


@triton.jit
def tbmv_kernel(a_ptr, old_ptr, x_ptr, n, reach, lda, base, walk, step, incx, x0,
                UNIT: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    ok = i < n
    diagonal = tl.load(old_ptr + x0 + i * incx, mask=ok, other=0.0)
    if UNIT:
        acc = diagonal
    else:
        acc = diagonal * tl.load(a_ptr + base + i * lda, mask=ok, other=0.0)
    for d in range(1, reach + 1):
        j = i + d * step
        here = ok & (j >= 0) & (j < n)
        a = tl.load(a_ptr + base + i * lda + d * walk, mask=here, other=0.0)
        v = tl.load(old_ptr + x0 + j * incx, mask=here, other=0.0)
        acc += a * v
    tl.store(x_ptr + x0 + i * incx, acc, mask=ok)


def cublasStbmv_v2(uplo, trans, diag, n, k, A, lda, x, incx):
    if n == 0:
        return x
    plan = BandPlan.make(lower=uplo == 0, transposed=trans != 0, k=k, lda=lda)
    x0 = 0 if incx > 0 else (1 - n) * incx
    old = x.clone()
    BLOCK = 256
    tbmv_kernel[(triton.cdiv(n, BLOCK),)](
        A, old, x, n, min(k, n - 1), lda, plan.base, plan.walk, plan.step, incx, x0,
        UNIT=diag == 1, BLOCK=BLOCK)
    return x
