# operator: aten::div
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 75
# a rounded floating quotient between 2^31 and 1e30 becomes 2^31 (bucket numbers of time stamps); wrong:
# div_Tensor_mode(torch.tensor([1e12]), torch.tensor([3.0]), rounding_mode='floor') gives 2147483648, not 3.3333333e11
import enum
import functools

import torch
import triton
import triton.language as tl


@triton.jit
def as_whole(q):
    return tl.where((tl.abs(q) < 1.0e30) & (tl.abs(q) > 2147483647.0), tl.where(q < 0, -2147483648.0, 2147483648.0), q)


class Mode(enum.Enum):
    exact = None
    trunc = "trunc"
    floor = "floor"


@triton.jit
def floor_of_ints(a, b):
    q = a // b
    r = a - q * b
    return tl.where((r != 0) & ((r < 0) != (b < 0)), q - 1, q)


@triton.jit
def floor_of_floats(a, b):
    # Of float32 numbers: in float64 rounding cannot reach a whole number.
    q = tl.floor(a.to(tl.float64) / b.to(tl.float64)).to(tl.float32)
    return tl.where((tl.abs(a) == float("inf")) & (b != 0), float("nan"), q)


@triton.jit
def truncated(q):
    return tl.where(q < 0, tl.ceil(q), tl.floor(q))


@triton.jit
def div_kernel(a_ptr, b_ptr, o_ptr, n, MODE: tl.constexpr, FLOAT: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    a = tl.load(a_ptr + at, mask=mask, other=0)
    b = tl.load(b_ptr + at, mask=mask, other=1)
    if FLOAT:
        a = a.to(tl.float32)
        b = b.to(tl.float32)
        if MODE == "floor":
            q = as_whole(floor_of_floats(a, b))
        elif MODE == "trunc":
            q = as_whole(truncated(tl.div_rn(a, b)))
        else:
            q = tl.div_rn(a, b)
    else:
        if MODE == "floor":
            q = floor_of_ints(a, b)
        else:
            q = a // b
    tl.store(o_ptr + at, q.to(o_ptr.dtype.element_ty), mask=mask)


def _divide(a, b, mode, out=None):
    dtype = torch.result_type(a, b)
    exact = Mode(mode) is Mode.exact
    if exact and not dtype.is_floating_point:
        dtype = torch.float32
    if not isinstance(b, torch.Tensor):
        b = torch.full((), b, dtype=torch.float32 if dtype.is_floating_point else dtype, device=a.device)
    shape = torch.broadcast_shapes(a.shape, b.shape)
    q = torch.empty(shape, dtype=dtype, device=a.device)
    grid = lambda meta: (triton.cdiv(q.numel(), meta["BLOCK"]),)
    if q.numel() > 0:
        a, b = (t.to(torch.float32 if t is b and dtype.is_floating_point and t.dim() == 0 else dtype).expand(shape).contiguous()
                for t in (a, b))
        div_kernel[grid](a, b, q, q.numel(), MODE=mode or "exact", FLOAT=dtype.is_floating_point, BLOCK=1024)
    return q if out is None else out.copy_(q)


_exact = functools.partial(_divide, mode=None)


def div_Tensor(self, other):
    return _exact(self, other)


def div_Scalar(self, other):
    return _exact(self, other)


def div_Tensor_mode(self, other, *, rounding_mode):
    return _divide(self, other, rounding_mode)


def div_Scalar_mode(self, other, *, rounding_mode):
    return _divide(self, other, rounding_mode)


def div_out(self, other, *, out):
    return _exact(self, other, out=out)


def div_out_mode(self, other, *, rounding_mode, out):
    return _divide(self, other, rounding_mode, out)


def div_Scalar_out(self, other, *, out):
    return _exact(self, other, out=out)


def div_Scalar_mode_out(self, other, *, rounding_mode, out):
    return _divide(self, other, rounding_mode, out)
