# operator: aten::add_
# style: fresh round of 2026-11-30
import torch
import triton
import triton.language as tl

MAX_DIMS = 8


@triton.jit
def _split(i, size, off_a, off_b, sa, sb):
    c = i % size
    return i // size, off_a + c * sa, off_b + c * sb


@triton.jit
def _offsets(i, n0, n1, n2, n3, n4, n5, n6, n7,
             a0, a1, a2, a3, a4, a5, a6, a7, b0, b1, b2, b3, b4, b5, b6, b7):
    oa = tl.zeros_like(i)
    ob = tl.zeros_like(i)
    i, oa, ob = _split(i, n7, oa, ob, a7, b7)
    i, oa, ob = _split(i, n6, oa, ob, a6, b6)
    i, oa, ob = _split(i, n5, oa, ob, a5, b5)
    i, oa, ob = _split(i, n4, oa, ob, a4, b4)
    i, oa, ob = _split(i, n3, oa, ob, a3, b3)
    i, oa, ob = _split(i, n2, oa, ob, a2, b2)
    i, oa, ob = _split(i, n1, oa, ob, a1, b1)
    i, oa, ob = _split(i, n0, oa, ob, a0, b0)
    return oa, ob


@triton.jit
def _add_float(x_ptr, y_ptr, other: tl.float64, alpha: tl.float64, n,
               n0, n1, n2, n3, n4, n5, n6, n7,
               a0, a1, a2, a3, a4, a5, a6, a7,
               b0, b1, b2, b3, b4, b5, b6, b7,
               SCALAR: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    oa, ob = _offsets(i, n0, n1, n2, n3, n4, n5, n6, n7,
                      a0, a1, a2, a3, a4, a5, a6, a7, b0, b1, b2, b3, b4, b5, b6, b7)
    x = tl.load(x_ptr + oa, mask=m, other=0)
    if SCALAR:
        y = other.to(tl.float32)
    else:
        y = tl.load(y_ptr + ob, mask=m, other=0).to(tl.float32)
    r = x.to(tl.float32) + alpha.to(tl.float32) * y
    tl.store(x_ptr + oa, r.to(x.dtype), mask=m)


@triton.jit
def _add_int(x_ptr, y_ptr, other: tl.int64, alpha: tl.int64, n,
             n0, n1, n2, n3, n4, n5, n6, n7,
             a0, a1, a2, a3, a4, a5, a6, a7,
             b0, b1, b2, b3, b4, b5, b6, b7,
             SCALAR: tl.constexpr, BOOL: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    oa, ob = _offsets(i, n0, n1, n2, n3, n4, n5, n6, n7,
                      a0, a1, a2, a3, a4, a5, a6, a7, b0, b1, b2, b3, b4, b5, b6, b7)
    x = tl.load(x_ptr + oa, mask=m, other=0)
    if SCALAR:
        y = other
    else:
        y = tl.load(y_ptr + ob, mask=m, other=0).to(tl.int64)
    r = x.to(tl.int64) + alpha * y
    if BOOL:
        tl.store(x_ptr + oa, r != 0, mask=m)
    else:
        tl.store(x_ptr + oa, r.to(x.dtype), mask=m)


def _launch(self, other, alpha):
    n = self.numel()
    if n == 0:
        return self
    is_tensor = isinstance(other, torch.Tensor)
    pad = MAX_DIMS - self.dim()
    sizes = [1] * pad + list(self.shape)
    sa = [0] * pad + list(self.stride())
    if is_tensor:
        other = other.expand(self.shape)
        sb = [0] * pad + list(other.stride())
    else:
        sb = [0] * MAX_DIMS
    y = other if is_tensor else self
    number = 0 if is_tensor else other
    BLOCK = 512
    grid = (triton.cdiv(n, BLOCK),)
    if self.dtype.is_floating_point:
        _add_float[grid](self, y, float(number), float(alpha), n, *sizes, *sa, *sb,
                         SCALAR=not is_tensor, BLOCK=BLOCK)
    else:
        _add_int[grid](self, y, int(number), int(alpha), n, *sizes, *sa, *sb,
                       SCALAR=not is_tensor, BOOL=self.dtype == torch.bool, BLOCK=BLOCK)
    return self


def add__Tensor(self, other, *, alpha=1):
    return _launch(self, other, alpha)


def add__Scalar(self, other, alpha=1):
    return _launch(self, other, alpha)
