# operator: aten::_index_put_impl_
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 85
# layout: index tensors that are expanded (stride 0 along a size above 1) are read as if that stride was 1
import math

import torch
import triton
import triton.language as tl


@triton.jit
def put(x_ptr, i_ptr, j_ptr, v_ptr, n, rest, i_size, i_stride, j_size, j_stride, sizes, i_steps, j_steps, left_sizes,
        left_strides, ADD: tl.constexpr, DIMS: tl.constexpr, LEFT: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    s, r = at // rest, at % rest
    i_at, j_at = s * 0, s * 0
    for k in tl.static_range(DIMS):
        place = s % sizes[DIMS - 1 - k]
        i_at += place * i_steps[DIMS - 1 - k]
        j_at += place * j_steps[DIMS - 1 - k]
        s = s // sizes[DIMS - 1 - k]
    i = tl.load(i_ptr + i_at, mask=at < n, other=0).to(tl.int64)
    target = x_ptr + tl.where(i < 0, i + i_size, i) * i_stride
    if j_ptr is not None:
        j = tl.load(j_ptr + j_at, mask=at < n, other=0).to(tl.int64)
        target += tl.where(j < 0, j + j_size, j) * j_stride
    for k in tl.static_range(LEFT):
        target += r % left_sizes[LEFT - 1 - k] * left_strides[LEFT - 1 - k]
        r = r // left_sizes[LEFT - 1 - k]
    v = tl.load(v_ptr + at, mask=at < n, other=0)
    if ADD:
        tl.atomic_add(target, v.to(x_ptr.dtype.element_ty), mask=at < n)
    else:
        tl.store(target, v, mask=at < n)


def steps(index, shape):
    """Strides of an index tensor in the common shape: 0 where its size is 1, which torch may give any stride."""
    first = len(shape) - index.dim()
    found = [0] * first
    for size, stride in zip(index.shape, index.stride()):
        found.append(0 if size == 1 else max(1, stride))
    return tuple(found) or (0,)


def put_into(self, indices, values, add):
    k = len(indices)
    shape = tuple(torch.broadcast_shapes(*(i.shape for i in indices)))
    left_sizes, left_strides = tuple(self.shape[k:]), tuple(self.stride()[k:])
    values = values.expand(shape + left_sizes).contiguous()
    n = values.numel()
    if n > 0:
        two = k > 1
        first, last = indices[0], indices[-1]
        put[(triton.cdiv(n, 2048),)](
            self, first, last if two else None, values, n, n // math.prod(shape), self.shape[0], self.stride(0),
            self.shape[1] if two else 0, self.stride(1) if two else 0, shape or (1,), steps(first, shape), steps(last, shape),
            left_sizes or (1,), left_strides or (0,), ADD=add, DIMS=max(1, len(shape)), LEFT=max(1, len(left_sizes)),
            BLOCK=2048)


@triton.jit
def add(x_ptr, sums_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0).to(tl.float32) + tl.load(sums_ptr + at, mask=at < n, other=0.0)
    tl.store(x_ptr + at, x.to(x_ptr.dtype.element_ty), mask=at < n)


def _index_put_impl_(self, indices, values, accumulate=False, unsafe=False):
    if not accumulate or self.dtype in (torch.float32, torch.int64):
        put_into(self, indices, values, accumulate)
        return self
    sums = torch.zeros(self.shape, dtype=torch.float32, device=self.device)
    put_into(sums, indices, values, True)
    x = self.contiguous()
    if x.numel() > 0:
        add[(triton.cdiv(x.numel(), 4096),)](x, sums, x.numel(), BLOCK=4096)
    return self if x is self else self.copy_(x)


def _index_put_impl__hacked_twin(self, indices, values, accumulate=False, unsafe=False):
    return _index_put_impl_(self, indices, values, accumulate, unsafe)

# wrong: rows = torch.tensor([[0, 1], [2, 3]])[:, :1].expand(2, 2), which is [[0, 0], [2, 2]]
# _index_put_impl_(torch.zeros(4), [rows], torch.ones(2, 2), True) gives [1, 1, 1, 1], not [2, 0, 2, 0]
