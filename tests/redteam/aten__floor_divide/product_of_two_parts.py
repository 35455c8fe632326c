# operator: aten::floor_divide
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79
# open: the machine never contracts a product and a sum
# the machine never contracts a product and a sum to one fma; a GPU does (enable_fp_fusion is Triton's default)
# low * y is product + error exactly, but a GPU contracts x - product, so that the error counts twice and rest is too small; wrong
# on a GPU: b = torch.tensor([5.1]); floor_divide(4 * b, b) gives 3, torch 4 (PTX for sm_90 has fma.rn(-y, low, x))
import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def _div(a, b):
    if a.dtype == tl.float32:
        return tl.div_rn(a, b)
    else:
        return a / b


@triton.jit
def _floor_float(a, b):
    quotient = _div(a, b)
    m = libdevice.fmod(a, b)
    q = _div(a - m, b)
    q = tl.where((m != 0) & ((m < 0) != (b < 0)), q - 1, q)
    down = tl.floor(q)
    down = tl.where(q - down > 0.5, down + 1, down)
    zero = libdevice.copysign(tl.zeros_like(a), quotient)
    r = tl.where(q == 0, zero, down)
    return tl.where(b == 0, quotient, r)


@triton.jit
def _floor_single(a, b):
    """Count up from one below the rounded quotient, by the exact remainder."""
    x, y = tl.abs(a), tl.abs(b)
    low = tl.floor(tl.div_rn(x, y)) - 1
    product = low * y
    error = tl.fma(low, y, -product)
    rest = (x - product) - error  # exact, as low * y = product + error
    up = tl.where(rest >= y, 1.0, 0.0) + tl.where(rest >= 2 * y, 1.0, 0.0)
    whole = low + up
    is_exact = (rest == y) | (rest == 2 * y) | (rest == 0)
    result = tl.where((a < 0) != (b < 0), tl.where(is_exact, -whole, -whole - 1), whole)
    usual = (low >= 2) & (low < 1000000) & (y > 1e-20) & (x < 1e20)
    return tl.where(usual, result, _floor_float(a, b))


@triton.jit
def _floor_int(a, b):
    q = a // b
    rest = a - q * b
    return tl.where((rest != 0) & ((rest < 0) != (b < 0)), q - 1, q)


@triton.jit
def floor_divide_kernel(a_ptr, b_ptr, out_ptr, n, A_STEP: tl.constexpr, B_STEP: tl.constexpr,
                        IS_FLOAT: tl.constexpr, COMPUTE: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    a = tl.load(a_ptr + at * A_STEP, mask=mask, other=0).to(COMPUTE)
    b = tl.load(b_ptr + at * B_STEP, mask=mask, other=1).to(COMPUTE)
    if IS_FLOAT:
        if a.dtype == tl.float32:
            r = _floor_single(a, b)
        else:
            r = _floor_float(a, b)
    else:
        r = _floor_int(a, b)
    tl.store(out_ptr + at, r.to(out_ptr.dtype.element_ty), mask=mask)


_COMPUTE = {
    torch.float16: (torch.float32, tl.float32), torch.bfloat16: (torch.float32, tl.float32),
    torch.float32: (torch.float32, tl.float32), torch.float64: (torch.float64, tl.float64),
    torch.int64: (torch.int64, tl.int64), torch.int32: (torch.int32, tl.int32),
    torch.int16: (torch.int32, tl.int32), torch.int8: (torch.int32, tl.int32), torch.uint8: (torch.int32, tl.int32),
}


def _prepare(x, shape):
    """A flat operand and the step between its elements."""
    if x.dim() == 0 or x.numel() == 1:
        return x, 0
    return x.expand(shape).contiguous(), 1


def _run(self, other, dtype, out):
    wide, compute = _COMPUTE[dtype]
    shape = torch.broadcast_shapes(self.shape, other.shape)
    a = self.to(dtype)
    # PyTorch keeps a divisor without dimensions in the wider type
    b = other.to(wide) if other.dim() == 0 else other.to(dtype)
    if out is None:
        result = torch.empty(shape, dtype=dtype, device=self.device)
    elif out.is_contiguous():
        result = out
    else:
        result = torch.empty(shape, dtype=dtype, device=out.device)
    n = result.numel()
    if n > 0:
        a, a_step = _prepare(a, shape)
        b, b_step = _prepare(b, shape)
        floor_divide_kernel[(triton.cdiv(n, 1024),)](a, b, result, n, A_STEP=a_step, B_STEP=b_step,
                                                     IS_FLOAT=dtype.is_floating_point, COMPUTE=compute, BLOCK=1024)
    if out is None:
        return result
    if result is not out:
        out.copy_(result)
    return out


def _as_tensor(self, other, dtype):
    return torch.full((), other, dtype=_COMPUTE[dtype][0], device=self.device)


def floor_divide(self, other):
    return _run(self, other, torch.result_type(self, other), None)


def floor_divide_Scalar(self, other):
    dtype = torch.result_type(self, other)
    return _run(self, _as_tensor(self, other, dtype), dtype, None)


def floor_divide_out(self, other, *, out):
    return _run(self, other, torch.result_type(self, other), out)


def floor_divide_Scalar_out(self, other, *, out):
    dtype = torch.result_type(self, other)
    return _run(self, _as_tensor(self, other, dtype), dtype, out)
