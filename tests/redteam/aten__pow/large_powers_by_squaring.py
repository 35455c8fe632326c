# operator: aten::pow
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 75
# a whole number as exponent of floats is done by repeated squaring in float32, whose error doubles with each square; within the tolerance up to 9, wrong in the fourth digit for exponents of thousands (compound growth, decay schedules)
import math

import torch
import triton
import triton.language as tl


@triton.jit
def real_power(x, e):
    inf = float("inf")
    x, e = x.to(tl.float64), e.to(tl.float64)
    size = tl.abs(x)
    y = tl.exp2(e * tl.log2(size))
    whole = tl.floor(e) == e
    odd = whole & (tl.floor(0.5 * e) * 2.0 != e) & (tl.abs(e) < 9007199254740992.0)
    below = (x < 0) | ((x == 0) & (1.0 / x < 0))
    y = tl.where(below & odd, -y, y)
    y = tl.where((x < 0) & ~whole & (size < inf) & (tl.abs(e) < inf), float("nan"), y)
    y = tl.where((tl.abs(e) == inf) & (size == 1), 1.0, y)
    return tl.where((e == 0) | (x == 1), 1.0, y).to(tl.float32)


@triton.jit
def whole_power(x, e):
    y = tl.full(x.shape, 1, x.dtype)
    base, rest = x, tl.where(e > 0, e, 0)
    while tl.max(rest, axis=0) > 0:
        y = tl.where(rest % 2 == 1, y * base, y)
        base = base * base
        rest = rest // 2
    minus = tl.where(e % 2 == 0, 1, -1).to(x.dtype)
    return tl.where(e >= 0, y, tl.where(x == 1, 1, tl.where(x == -1, minus, 0)).to(x.dtype))


@triton.jit
def power(x_ptr, e_ptr, o_ptr, n, X_STEP: tl.constexpr, E_STEP: tl.constexpr, ROOT: tl.constexpr,
          BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at * X_STEP, mask=at < n, other=1)
    e = tl.load(e_ptr + at * E_STEP, mask=at < n, other=1)
    if ROOT:
        y = tl.sqrt(x)
    else:
        y = real_power(x, e) if x.dtype.is_floating() else whole_power(x, e)
    tl.store(o_ptr + at, y.to(o_ptr.dtype.element_ty), mask=at < n)


@triton.jit(do_not_specialize=["exponent"])
def squares(x_ptr, o_ptr, n, exponent, INVERSE: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    base = tl.load(x_ptr + at, mask=at < n, other=1.0)
    y = tl.full([BLOCK], 1.0, tl.float32)
    while exponent > 0:
        if exponent % 2 == 1:
            y *= base
        base *= base
        exponent = exponent // 2
    if INVERSE:
        y = 1.0 / y
    tl.store(o_ptr + at, y.to(o_ptr.dtype.element_ty), mask=at < n)


def operand(x, shape, common, device):
    """(values of the type of the arithmetic, step from one to the next)"""
    wide = torch.float32 if common.is_floating_point else common
    if not isinstance(x, torch.Tensor):
        # a number keeps the digits that float32 would drop
        return torch.full((1,), x, dtype=torch.float64 if common.is_floating_point else wide, device=device), 0
    return x.to(common).to(wide).expand(shape).contiguous(), 1


def raised(x, e):
    shape = torch.broadcast_shapes(*(t.shape for t in (x, e) if isinstance(t, torch.Tensor)))
    device = x.device if isinstance(x, torch.Tensor) else e.device
    common = torch.result_type(x, e)
    out = torch.empty(shape, dtype=common, device=device)
    n = out.numel()
    if n > 0 and common.is_floating_point and type(e) in (int, float) and abs(e) < 2**31 and e == math.floor(e):
        base, _ = operand(x, shape, common, device)
        squares[(triton.cdiv(n, 4096),)](base, out, n, abs(int(e)), INVERSE=e < 0, BLOCK=4096)
    elif n > 0:
        base, base_step = operand(x, shape, common, device)
        exponent, exponent_step = operand(e, shape, common, device)
        root = common.is_floating_point and exponent_step == 0 and e == 0.5
        power[(triton.cdiv(n, 4096),)](base, exponent, out, n, X_STEP=base_step, E_STEP=exponent_step, ROOT=root, BLOCK=4096)
    return out


def pow_Tensor_Tensor(self, exponent):
    return raised(self, exponent)


def pow_Tensor_Scalar(self, exponent):
    return raised(self, exponent)


def pow_Scalar(self, exponent):
    return raised(self, exponent)


def pow_Tensor_Tensor_out(self, exponent, *, out):
    return out.copy_(raised(self, exponent))


def pow_Tensor_Scalar_out(self, exponent, *, out):
    return out.copy_(raised(self, exponent))


def pow_Scalar_out(self, exponent, *, out):
    return out.copy_(raised(self, exponent))

# wrong: pow_Tensor_Scalar(torch.tensor([1.0001]), 10000) gives 2.7180, not 2.7186 (1770 spacings of float32), and worse for larger
# exponents; torch.pow is right to one or two spacings
