# operator: cublas::cublasStbmv_v2
# style: fresh round of 2026-11-30
import torch
import triton
import triton.language as tl


@triton.jit
def tbmv(A, old, new, n, k, lda, x0, incx,
         UPPER: tl.constexpr, TRANS: tl.constexpr, UNIT: tl.constexpr,
         ROWS: tl.constexpr, BAND: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    own = i < n
    total = tl.zeros((ROWS,), tl.float32)
    for b in range(0, k + 1, BAND):
        t = b + tl.arange(0, BAND)                       # distance from the diagonal
        # op(A) is upper when A is upper and not transposed, or lower and transposed
        if UPPER != TRANS:
            j = i[:, None] + t[None, :]
        else:
            j = i[:, None] - t[None, :]
        use = own[:, None] & (t <= k)[None, :] & (j >= 0) & (j < n)
        # element (r, c) of A
        if TRANS:
            c = i[:, None]
        else:
            c = j
        place = k - t if UPPER else t
        stored = use
        if UNIT:
            stored = use & (t > 0)[None, :]
        a = tl.load(A + c * lda + place[None, :], mask=stored, other=0.0)
        if UNIT:
            a = tl.where((t == 0)[None, :], 1.0, a)
        x = tl.load(old + x0 + j * incx, mask=use, other=0.0)
        total += tl.sum(tl.where(use, a * x, 0.0), axis=1)
    tl.store(new + x0 + i * incx, total, mask=own)


def cublasStbmv_v2(uplo, trans, diag, n, k, A, lda, x, incx):
    if n == 0:
        return x
    before = torch.empty_like(x)
    before.copy_(x)
    BAND = max(2, min(16, triton.next_power_of_2(k + 1)))
    tbmv[(triton.cdiv(n, 64),)](
        A, before, x, n, k, lda, (1 - n) * incx if incx < 0 else 0, incx,
        UPPER=uplo == 1, TRANS=trans != 0, UNIT=diag == 1, ROWS=64, BAND=BAND)
    return x
