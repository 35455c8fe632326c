# operator: aten::mul
# style: broadcasting by expand and strides, tuple arguments, dispatch on the kind of the result
import torch
import triton
import triton.language as tl


@triton.jit
def offsets_of(i, sizes, strides):
    """Sum of coordinate times stride; the last dimension runs fastest."""
    at = tl.zeros_like(i)
    for d in tl.static_range(len(sizes)):
        at += (i % sizes[len(sizes) - 1 - d]) * strides[len(sizes) - 1 - d]
        i = i // sizes[len(sizes) - 1 - d]
    return at


@triton.jit
def operand(v, RESULT: tl.constexpr, WORK: tl.constexpr, VIA_RESULT: tl.constexpr):
    if WORK == tl.int1:
        return v != 0
    elif VIA_RESULT:
        return v.to(RESULT).to(WORK)
    else:
        return v.to(WORK)


@triton.jit
def product(a, b, WORK: tl.constexpr):
    if WORK == tl.int1:
        return a & b
    else:
        return a * b


@triton.jit
def mul_tensors(a_ptr, b_ptr, o_ptr, n, sizes, sa, sb, so,
                WORK: tl.constexpr, A_VIA: tl.constexpr, B_VIA: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    ok = i < n
    RESULT: tl.constexpr = o_ptr.dtype.element_ty
    a = operand(tl.load(a_ptr + offsets_of(i, sizes, sa), mask=ok, other=0), RESULT, WORK, A_VIA)
    b = operand(tl.load(b_ptr + offsets_of(i, sizes, sb), mask=ok, other=0), RESULT, WORK, B_VIA)
    tl.store(o_ptr + offsets_of(i, sizes, so), product(a, b, WORK).to(RESULT), mask=ok)


@triton.jit
def mul_number(a_ptr, o_ptr, number, n, sizes, sa, so, WORK: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    ok = i < n
    RESULT: tl.constexpr = o_ptr.dtype.element_ty
    a = operand(tl.load(a_ptr + offsets_of(i, sizes, sa), mask=ok, other=0), RESULT, WORK, WORK.is_floating())
    if WORK == tl.int1:
        b = tl.full([BLOCK], number, tl.int32) != 0
    else:
        b = tl.full([BLOCK], number, WORK)
    tl.store(o_ptr + offsets_of(i, sizes, so), product(a, b, WORK).to(RESULT), mask=ok)


_WORK = {
    torch.float16: tl.float32, torch.bfloat16: tl.float32, torch.float32: tl.float32, torch.float64: tl.float64,
    torch.bool: tl.int1, torch.uint8: tl.int32, torch.int8: tl.int32, torch.int16: tl.int32,
    torch.int32: tl.int32, torch.int64: tl.int64,
}
BLOCK = 1024


def _grid(n):
    return (triton.cdiv(n, BLOCK),)


def _dims(shape):
    return tuple(shape) if len(shape) else (1,)


def _steps(tensor):
    return tuple(tensor.stride()) if tensor.dim() else (0,)


def _tensors(self, other, out):
    shape = torch.broadcast_shapes(self.shape, other.shape)
    result = torch.result_type(self, other)
    if out is None:
        out = torch.empty(shape, dtype=result, device=self.device)
    n = out.numel()
    if n:
        a, b = self.detach().expand(shape), other.detach().expand(shape)
        # A tensor with dimensions is first brought to the type of the result, a lone number is kept as exact as
        # the arithmetic.
        work = _WORK[result]
        floating = result.is_floating_point
        mul_tensors[_grid(n)](
            a, b, out, n, _dims(shape), _steps(a), _steps(b), _steps(out),
            WORK=work, A_VIA=floating and self.dim() > 0, B_VIA=floating and other.dim() > 0, BLOCK=BLOCK)
    return out


def _number(self, other, out):
    result = torch.result_type(self, other)
    if out is None:
        out = torch.empty(self.shape, dtype=result, device=self.device)
    n = out.numel()
    if n:
        other = float(other) if result.is_floating_point else int(other)
        a = self.detach()
        mul_number[_grid(n)](a, out, other, n, _dims(a.shape), _steps(a), _steps(out), WORK=_WORK[result], BLOCK=BLOCK)
    return out


def mul_Tensor(self, other):
    return _tensors(self, other, None)


def mul_Scalar(self, other):
    return _number(self, other, None)


def mul_out(self, other, *, out):
    return _tensors(self, other, out)


def mul_Scalar_out(self, other, *, out):
    return _number(self, other, out)
