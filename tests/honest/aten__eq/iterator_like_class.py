# operator: aten::eq
# style: TensorIterator-like class (broadcast, reorder, fuse) and three entry kernels sharing jit helpers; compute type by table
import torch
import triton
import triton.language as tl

_TL = {
    torch.bool: tl.int1,
    torch.uint8: tl.uint8,
    torch.int8: tl.int8,
    torch.int16: tl.int16,
    torch.int32: tl.int32,
    torch.int64: tl.int64,
    torch.float16: tl.float16,
    torch.bfloat16: tl.bfloat16,
    torch.float32: tl.float32,
    torch.float64: tl.float64,
}

INTEGER = 0  # compared in the common integer type
NARROW = 1  # float16, bfloat16, float32: converted by way of float32, as PyTorch does
DOUBLE = 2  # an integer tensor against a float while the default type is float64

_BLOCK = 1024


@triton.jit
def _common(v, TYPE: tl.constexpr, KIND: tl.constexpr):
    if KIND == 2:
        return v.to(tl.float64)
    elif KIND == 1:
        return v.to(tl.float32).to(TYPE).to(tl.float32)
    else:
        return v.to(TYPE)


@triton.jit
def _eq_tensors(
    a_ptr, b_ptr, o_ptr, n, sizes, a_steps, b_steps, o_steps,
    RANK: tl.constexpr, TYPE: tl.constexpr, KIND: tl.constexpr, BLOCK: tl.constexpr,
):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    ok = i < n
    a_at = tl.zeros([BLOCK], dtype=tl.int64)
    b_at = tl.zeros([BLOCK], dtype=tl.int64)
    o_at = tl.zeros([BLOCK], dtype=tl.int64)
    rest = i
    for d in tl.static_range(RANK):
        c = rest % sizes[d]
        rest = rest // sizes[d]
        a_at += c * a_steps[d]
        b_at += c * b_steps[d]
        o_at += c * o_steps[d]
    a = _common(tl.load(a_ptr + a_at, mask=ok), TYPE, KIND)
    b = _common(tl.load(b_ptr + b_at, mask=ok), TYPE, KIND)
    tl.store(o_ptr + o_at, a == b, mask=ok)


@triton.jit(do_not_specialize=["value"])
def _eq_whole(
    a_ptr, value, o_ptr, n, sizes, a_steps, o_steps,
    RANK: tl.constexpr, TYPE: tl.constexpr, KIND: tl.constexpr, BLOCK: tl.constexpr,
):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    ok = i < n
    a_at = tl.zeros([BLOCK], dtype=tl.int64)
    o_at = tl.zeros([BLOCK], dtype=tl.int64)
    rest = i
    for d in tl.static_range(RANK):
        c = rest % sizes[d]
        rest = rest // sizes[d]
        a_at += c * a_steps[d]
        o_at += c * o_steps[d]
    a = _common(tl.load(a_ptr + a_at, mask=ok), TYPE, KIND)
    b = _common(tl.full([BLOCK], value, tl.int64), TYPE, KIND)
    tl.store(o_ptr + o_at, a == b, mask=ok)


@triton.jit
def _eq_real(
    a_ptr, value: tl.float64, o_ptr, n, sizes, a_steps, o_steps,
    RANK: tl.constexpr, TYPE: tl.constexpr, KIND: tl.constexpr, BLOCK: tl.constexpr,
):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    ok = i < n
    a_at = tl.zeros([BLOCK], dtype=tl.int64)
    o_at = tl.zeros([BLOCK], dtype=tl.int64)
    rest = i
    for d in tl.static_range(RANK):
        c = rest % sizes[d]
        rest = rest // sizes[d]
        a_at += c * a_steps[d]
        o_at += c * o_steps[d]
    a = _common(tl.load(a_ptr + a_at, mask=ok), TYPE, KIND)
    b = _common(tl.full([BLOCK], value, tl.float64), TYPE, KIND)
    tl.store(o_ptr + o_at, a == b, mask=ok)


class _Iteration:
    """One loop nest over a result and its operands, innermost level first."""

    def __init__(self, result, operands):
        shape = result.shape
        all_strides = [result.stride()] + [x.expand(shape).stride() for x in operands]
        self.n = result.numel()
        levels = []
        for d in range(len(shape)):
            if shape[d] != 1:
                levels.append([shape[d]] + [strides[d] for strides in all_strides])
        levels.sort(key=lambda level: level[1:])
        fused = []
        for level in levels:
            if fused and all(s == p * fused[-1][0] for s, p in zip(level[1:], fused[-1][1:])):
                fused[-1][0] *= level[0]
            else:
                fused.append(level)
        if not fused:
            fused = [[1] + [0] * len(all_strides)]
        self.rank = len(fused)
        self.sizes, *self.steps = [tuple(column) for column in zip(*fused)]

    def grid(self):
        return (triton.cdiv(self.n, _BLOCK),)


def _compute_type(common):
    if not common.is_floating_point:
        return _TL[common], INTEGER
    return _TL[common], DOUBLE if common == torch.float64 else NARROW


def _tensor_tensor(a, b, result):
    if result.numel() == 0:
        return result
    kind_type, kind = _compute_type(torch.result_type(a, b))
    it = _Iteration(result, (a, b))
    o_steps, a_steps, b_steps = it.steps
    _eq_tensors[it.grid()](
        a, b, result, it.n, it.sizes, a_steps, b_steps, o_steps,
        RANK=it.rank, TYPE=kind_type, KIND=kind, BLOCK=_BLOCK,
    )
    return result


def _tensor_number(a, number, result):
    if result.numel() == 0:
        return result
    kind_type, kind = _compute_type(torch.result_type(a, number))
    it = _Iteration(result, (a,))
    o_steps, a_steps = it.steps
    if isinstance(number, float):
        kernel, value = _eq_real, number
    else:
        kernel, value = _eq_whole, int(number)
    kernel[it.grid()](
        a, value, result, it.n, it.sizes, a_steps, o_steps,
        RANK=it.rank, TYPE=kind_type, KIND=kind, BLOCK=_BLOCK,
    )
    return result


def eq_Tensor(self, other):
    shape = torch.broadcast_shapes(self.shape, other.shape)
    return _tensor_tensor(self, other, torch.empty(shape, dtype=torch.bool, device=self.device))


def eq_Scalar(self, other):
    return _tensor_number(self, other, torch.empty(self.shape, dtype=torch.bool, device=self.device))


def eq_Tensor_out(self, other, *, out):
    return _tensor_tensor(self, other, out)


def eq_Scalar_out(self, other, *, out):
    return _tensor_number(self, other, out)
