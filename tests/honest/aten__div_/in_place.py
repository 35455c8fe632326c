# operator: aten::div_
# style: strided writes into self; modes as constexpr; the arithmetic's type follows the promoted one
import torch
import triton
import triton.language as tl


@triton.jit
def place(i, sizes, strides, NDIM: tl.constexpr):
    at = i * 0
    for k in tl.static_range(NDIM):
        at += i % sizes[NDIM - 1 - k] * strides[NDIM - 1 - k]
        i = i // sizes[NDIM - 1 - k]
    return at


@triton.jit
def rounded(a, b, MODE: tl.constexpr):
    if a.dtype.is_floating():
        if MODE == "exact":
            result = tl.div_rn(a, b)
        else:
            exact = a.to(tl.float64) / b.to(tl.float64)  # of float32 numbers: rounding cannot reach a whole number
            down = tl.floor(exact)
            infinite = float("inf")
            if MODE == "trunc":
                down = tl.where(exact < 0, -tl.floor(-exact), down)
            else:  # as fmod has it: of an infinite number there is no remainder, and that of a small one is the number itself
                down = tl.where((tl.abs(a) == infinite) & (b != 0), float("nan"), down)
                below = (tl.abs(a) < infinite) & (tl.abs(b) == infinite) & (a != 0) & ((a < 0) != (b < 0))
                down = tl.where(below, -1.0, down)
            result = down.to(tl.float32)
    else:
        q = a // b
        r = a - q * b
        result = q if MODE == "trunc" else tl.where((r != 0) & ((r < 0) != (b < 0)), q - 1, q)
    return result


@triton.jit
def divide(a_ptr, b_ptr, number, n, sizes, a_strides, b_strides, MODE: tl.constexpr, KIND: tl.constexpr, WIDE: tl.constexpr,
           NDIM: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a_ptr += place(i, sizes, a_strides, NDIM)
    a = tl.load(a_ptr, mask=i < n, other=1).to(WIDE)
    if b_ptr is None:
        b = tl.full((BLOCK,), number, WIDE)
    else:
        b = tl.load(b_ptr + place(i, sizes, b_strides, NDIM), mask=i < n, other=1).to(WIDE)
    q = rounded(a, b, MODE)
    tl.store(a_ptr, q.to(KIND).to(a_ptr.dtype.element_ty), mask=i < n)


TYPES = {torch.float16: tl.float16, torch.bfloat16: tl.bfloat16, torch.float32: tl.float32, torch.int64: tl.int64,
         torch.int32: tl.int32}


def divide_into(self, other, mode):
    n = self.numel()
    if n == 0:
        return self
    tensor = isinstance(other, torch.Tensor)
    common = torch.result_type(self, other)
    if mode is None and not common.is_floating_point:
        common = torch.float32
    b = other.expand(self.shape) if tensor else None
    sizes = tuple(self.shape) or (1,)
    strides = self.stride() or (0,)
    divide[(triton.cdiv(n, 4096),)](
        self, b, 0 if tensor else other, n, sizes, strides, (b.stride() or (0,)) if tensor else strides, MODE=mode or "exact",
        KIND=TYPES[common], WIDE=tl.float32 if common.is_floating_point else TYPES[common], NDIM=len(sizes), BLOCK=4096)
    return self


def div__Tensor(self, other):
    return divide_into(self, other, None)


def div__Tensor_mode(self, other, *, rounding_mode):
    return divide_into(self, other, rounding_mode)


def div__Scalar(self, other):
    return divide_into(self, other, None)


def div__Scalar_mode(self, other, *, rounding_mode):
    return divide_into(self, other, rounding_mode)
