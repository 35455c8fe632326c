# operator: aten::pow
# style: host dispatch on kinds of base and exponent, float64 inside, integers by squaring
import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice

_BLOCK = 512


@triton.jit
def _int_pow(b, e):
    """Exact power modulo 2^64 by repeated squaring; negative exponents as 1 / b^|e| in integers."""
    negative = e < 0
    odd = (e & 1) != 0
    n = tl.where(negative, 0, e)
    result = tl.full(b.shape, 1, tl.int64)
    base = b
    while tl.max(n, axis=0) > 0:
        result = tl.where((n & 1) != 0, result * base, result)
        base = base * base
        n = n >> 1
    inverse = tl.where(b == 1, 1, tl.where(b == -1, tl.where(odd, -1, 1), 0))
    return tl.where(negative, inverse, result)


@triton.jit
def _int_pow_number(b, e):
    # e is one number >= 0 for all lanes: a scalar loop.
    result = tl.full(b.shape, 1, tl.int64)
    base = b
    while e > 0:
        if (e & 1) != 0:
            result = result * base
        base = base * base
        e = e >> 1
    return result


@triton.jit
def _offsets(at, SHAPE, STRIDE, NDIM: tl.constexpr):
    off = tl.zeros_like(at)
    r = at
    for i in tl.static_range(NDIM):
        off += (r % SHAPE[NDIM - 1 - i]) * STRIDE[NDIM - 1 - i]
        r = r // SHAPE[NDIM - 1 - i]
    return off


@triton.jit
def _as_common(x, COMMON: tl.constexpr):
    # An operand takes the result's type first, as in PyTorch's promotion.
    x = x.to(COMMON)
    if COMMON.is_floating():
        return x.to(tl.float64)
    else:
        return x.to(tl.int64)


@triton.jit
def _finish(ptr, at, y, mask, COMMON: tl.constexpr):
    if COMMON.is_floating():
        y = y.to(tl.float32)
    tl.store(ptr + at, y.to(ptr.dtype.element_ty), mask=mask)


@triton.jit
def _pow_tensors_kernel(
    a_ptr, b_ptr, out_ptr, n,
    SHAPE, a_stride, b_stride, out_stride,
    NDIM: tl.constexpr,  # 0: all contiguous and of the same shape
    BLOCK: tl.constexpr,
):
    COMMON: tl.constexpr = out_ptr.dtype.element_ty
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    if NDIM == 0:
        a_at = at
        b_at = at
        o_at = at
    else:
        a_at = _offsets(at, SHAPE, a_stride, NDIM)
        b_at = _offsets(at, SHAPE, b_stride, NDIM)
        o_at = _offsets(at, SHAPE, out_stride, NDIM)
    a = _as_common(tl.load(a_ptr + a_at, mask=mask, other=1), COMMON)
    b = _as_common(tl.load(b_ptr + b_at, mask=mask, other=1), COMMON)
    if COMMON.is_floating():
        y = libdevice.pow(a, b)
    else:
        y = _int_pow(a, b)
    _finish(out_ptr, o_at, y, mask, COMMON)


@triton.jit
def _pow_float_number_kernel(
    x_ptr, out_ptr, n, number: tl.float64,
    MODE: tl.constexpr,
    BLOCK: tl.constexpr,
):
    COMMON: tl.constexpr = out_ptr.dtype.element_ty
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    x = _as_common(tl.load(x_ptr + at, mask=mask, other=1), COMMON)
    if MODE == "sqrt":
        y = tl.sqrt(x)
    elif MODE == "square":
        y = x * x
    elif MODE == "cube":
        y = x * x * x
    elif MODE == "exponent":
        y = libdevice.pow(x, tl.full((BLOCK,), number, tl.float64))
    else:
        y = libdevice.pow(tl.full((BLOCK,), number, tl.float64), x)
    _finish(out_ptr, at, y, mask, COMMON)


@triton.jit
def _pow_int_number_kernel(
    x_ptr, out_ptr, n, number: tl.int64,
    MODE: tl.constexpr,
    BLOCK: tl.constexpr,
):
    COMMON: tl.constexpr = out_ptr.dtype.element_ty
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    x = _as_common(tl.load(x_ptr + at, mask=mask, other=1), COMMON)
    if MODE == "exponent":
        y = _int_pow_number(x, number)
    else:
        y = _int_pow(tl.zeros((BLOCK,), tl.int64) + number, x)
    _finish(out_ptr, at, y, mask, COMMON)


def _result_type(a, b):
    dtype = torch.result_type(a, b)
    a_float = a.dtype.is_floating_point if isinstance(a, torch.Tensor) else False
    b_float = b.dtype.is_floating_point if isinstance(b, torch.Tensor) else False
    if dtype.is_floating_point and not a_float and not b_float:
        return torch.float32  # an integer tensor with a Python float
    return dtype


def _merge_dims(shape, strides):
    """Drops dimensions of size 1 and merges neighbours that all tensors step through evenly."""
    dims = []
    for i, size in enumerate(shape):
        if size == 1:
            continue
        st = [s[i] for s in strides]
        if dims and all(p == s * size for p, s in zip(dims[-1][1], st)):
            dims[-1] = (dims[-1][0] * size, st)
        else:
            dims.append((size, st))
    if not dims:
        dims = [(1, [0] * len(strides))]
    return tuple(d[0] for d in dims), [tuple(d[1][k] for d in dims) for k in range(len(strides))]


def _tensors(a, b, out):
    n = out.numel()
    if n == 0:
        return out
    shape = out.shape
    a = a.expand(shape)
    b = b.expand(shape)
    sizes, (sa, sb, so) = _merge_dims(shape, [a.stride(), b.stride(), out.stride()])
    flat = len(sizes) == 1 and sa == sb == so == (1,)
    _pow_tensors_kernel[(triton.cdiv(n, _BLOCK),)](
        a, b, out, n, sizes, sa, sb, so,
        NDIM=0 if flat else len(sizes), BLOCK=_BLOCK, num_warps=4)
    return out


def _number(x, number, out, as_exponent):
    n = out.numel()
    if n == 0:
        return out
    x = x.contiguous()
    target = out if out.is_contiguous() else torch.empty(out.shape, dtype=out.dtype, device=out.device)
    grid = (triton.cdiv(n, _BLOCK),)
    mode = "exponent" if as_exponent else "base"
    if out.dtype.is_floating_point:
        number = float(number)
        if as_exponent:
            mode = {0.5: "sqrt", 2.0: "square", 3.0: "cube"}.get(number, mode)
        _pow_float_number_kernel[grid](x, target, n, number, MODE=mode, BLOCK=_BLOCK, num_warps=4)
    else:
        _pow_int_number_kernel[grid](x, target, n, int(number), MODE=mode, BLOCK=_BLOCK, num_warps=4)
    if target is not out:
        out.copy_(target)
    return out


def pow_Tensor_Tensor(self, exponent):
    shape = torch.broadcast_shapes(self.shape, exponent.shape)
    out = torch.empty(shape, dtype=_result_type(self, exponent), device=self.device)
    return _tensors(self, exponent, out)


def pow_Tensor_Tensor_out(self, exponent, *, out):
    return _tensors(self, exponent, out)


def pow_Tensor_Scalar(self, exponent):
    out = torch.empty(self.shape, dtype=_result_type(self, exponent), device=self.device)
    return _number(self, exponent, out, True)


def pow_Tensor_Scalar_out(self, exponent, *, out):
    return _number(self, exponent, out, True)


def pow_Scalar(self, exponent):
    out = torch.empty(exponent.shape, dtype=_result_type(self, exponent), device=exponent.device)
    return _number(exponent, self, out, False)


def pow_Scalar_out(self, exponent, *, out):
    return _number(exponent, self, out, False)
