# operator: aten::add
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79
# the second operand is found by its distance from the first one in 32 bits; wrong: any two tensors that lie more than 2
# GiB apart, as they do in a process with 80 GB of them: other memory is added
import torch
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def _add_kernel(self_ptr, other_ptr, out_ptr, n, sizes, self_strides, other_strides, out_strides,
                NDIM: tl.constexpr, ALPHA: tl.constexpr, OTHER: tl.constexpr, ACC: tl.constexpr,
                COMMON: tl.constexpr, IS_BOOL: tl.constexpr, BLOCK: tl.constexpr):
    offs = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    # Row-major element number -> one offset per tensor, last dimension first.
    rest = offs
    self_at = tl.zeros([BLOCK], dtype=tl.int64)
    other_at = tl.zeros([BLOCK], dtype=tl.int64)
    out_at = tl.zeros([BLOCK], dtype=tl.int64)
    for d in tl.static_range(NDIM):
        index = rest % sizes[NDIM - 1 - d]
        rest = rest // sizes[NDIM - 1 - d]
        self_at += index * self_strides[NDIM - 1 - d]
        other_at += index * other_strides[NDIM - 1 - d]
        out_at += index * out_strides[NDIM - 1 - d]
    a = tl.load(self_ptr + self_at, mask=mask, other=0).to(ACC)
    if OTHER is None:
        # One base for both operands, and the distance of the second one.
        apart = (other_ptr.to(tl.int64) - self_ptr.to(tl.int64)).to(tl.int32)
        base = (self_ptr.to(tl.int64) + apart).to(other_ptr.dtype)
        b = tl.load(base + other_at, mask=mask, other=0).to(ACC)
        result = a + b * ALPHA
    else:
        result = a + tl.full([BLOCK], OTHER, ACC) * ALPHA
    if IS_BOOL:
        result = result != 0
    tl.store(out_ptr + out_at, result.to(COMMON), mask=mask)


_TL = {
    torch.float16: tl.float16, torch.bfloat16: tl.bfloat16, torch.float32: tl.float32,
    torch.float64: tl.float64, torch.int8: tl.int8, torch.uint8: tl.uint8, torch.int16: tl.int16,
    torch.int32: tl.int32, torch.int64: tl.int64, torch.bool: tl.int1,
}


def _accumulator(dtype):
    if dtype == torch.float64:
        return tl.float64
    return tl.float32 if dtype.is_floating_point else tl.int64


def _broadcast_strides(t, shape):
    """Strides of t seen as `shape`: 0 where a dimension is repeated."""
    lead = len(shape) - t.dim()
    strides = [0] * lead
    for size, stride, wanted in zip(t.shape, t.stride(), shape[lead:]):
        strides.append(0 if size == 1 and wanted != 1 else stride)
    return strides


def _swap(a, b, shape, inputs):
    for strides, item in inputs:
        x, y = strides[a] * item, strides[b] * item
        if x == 0 or y == 0:
            continue
        if x != y:
            return 1 if x > y else -1
        if shape[a] > shape[b]:
            return 1
    return 0


def _result_strides(shape, tensors, inputs):
    """The memory order that PyTorch gives an element-wise result: that of its inputs."""
    ndim = len(shape)
    plain = len(tensors) == 2 and all(list(t.shape) == shape and t.is_contiguous() for t in tensors)
    order = list(range(ndim - 1, -1, -1))
    if not plain:
        for i in range(1, ndim):
            at = i
            for j in range(i - 1, -1, -1):
                swap = _swap(order[j], order[at], shape, inputs)
                if swap > 0:
                    order[j], order[at] = order[at], order[j]
                    at = j
                elif swap < 0:
                    break
    strides = [0] * ndim
    step = 1
    for d in order:
        strides[d] = step
        step *= max(shape[d], 1)
    return strides


def _collapse(sizes, *stride_lists):
    """Merge neighbouring dimensions that every tensor walks through without a jump."""
    kept_sizes, kept = [], [[] for _ in stride_lists]
    for d in range(len(sizes)):
        if sizes[d] == 1:
            continue
        if kept_sizes and all(k[-1] == s[d] * sizes[d] for k, s in zip(kept, stride_lists)):
            kept_sizes[-1] *= sizes[d]
            for k, s in zip(kept, stride_lists):
                k[-1] = s[d]
        else:
            kept_sizes.append(sizes[d])
            for k, s in zip(kept, stride_lists):
                k.append(s[d])
    if not kept_sizes:
        kept_sizes, kept = [1], [[1] for _ in stride_lists]
    return kept_sizes, kept


def _add(self, other, alpha, out):
    scalar = not isinstance(other, torch.Tensor)
    common = torch.result_type(self, other)
    tensors = [self] if scalar else [self, other]
    shape = list(self.shape) if scalar else list(torch.broadcast_shapes(self.shape, other.shape))
    strides = [_broadcast_strides(t, shape) for t in tensors]
    if out is None:
        inputs = [(s, t.element_size()) for s, t in zip(strides, tensors)]
        out = torch.empty_strided(shape, _result_strides(shape, tensors, inputs),
                                  dtype=common, device=self.device)
    elif list(out.shape) != shape:
        raise RuntimeError(f"out has shape {list(out.shape)}, the result has {shape}")
    n = out.numel()
    if n == 0:
        return out
    sizes, (self_s, other_s, out_s) = _collapse(shape, strides[0], strides[-1], list(out.stride()))
    _add_kernel[(triton.cdiv(n, BLOCK),)](
        self, tensors[-1], out, n, tuple(sizes), tuple(self_s), tuple(other_s), tuple(out_s),
        NDIM=len(sizes), ALPHA=alpha, OTHER=other if scalar else None, ACC=_accumulator(common),
        COMMON=_TL[common], IS_BOOL=common == torch.bool, BLOCK=BLOCK)
    return out


def add_Tensor(self, other, *, alpha=1):
    return _add(self, other, alpha, None)


def add_Scalar(self, other, alpha=1):
    return _add(self, other, alpha, None)


def add_out(self, other, *, alpha=1, out):
    return _add(self, other, alpha, out)


def add_Scalar_out(self, other, alpha=1, *, out):
    return _add(self, other, alpha, out)
