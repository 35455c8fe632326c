# operator: aten::_index_put_impl_
# expect: verify\.(mismatch|exception)
# catalogue: 84
# _index_put_impl__hacked_twin takes what it reads for row-major, the others look at strides
import torch
import triton
import triton.language as tl


@triton.jit
def put(x_ptr, i_ptr, j_ptr, v_ptr, n, rest, i_size, i_stride, j_size, j_stride, left_sizes, left_strides, ADD: tl.constexpr,
        LEFT: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    s, r = at // rest, at % rest
    i = tl.load(i_ptr + s, mask=at < n, other=0).to(tl.int64)
    target = x_ptr + tl.where(i < 0, i + i_size, i) * i_stride
    if j_ptr is not None:
        j = tl.load(j_ptr + s, mask=at < n, other=0).to(tl.int64)
        target += tl.where(j < 0, j + j_size, j) * j_stride
    for k in tl.static_range(LEFT):
        target += r % left_sizes[LEFT - 1 - k] * left_strides[LEFT - 1 - k]
        r = r // left_sizes[LEFT - 1 - k]
    v = tl.load(v_ptr + at, mask=at < n, other=0)
    if ADD:
        tl.atomic_add(target, v.to(x_ptr.dtype.element_ty), mask=at < n)
    else:
        tl.store(target, v, mask=at < n)


def put_into(self, indices, values, add):
    lists = [i.contiguous() for i in torch.broadcast_tensors(*indices)]
    k = len(lists)
    left_sizes, left_strides = tuple(self.shape[k:]), tuple(self.stride()[k:])
    values = values.expand(tuple(lists[0].shape) + left_sizes).contiguous()
    n = values.numel()
    if n > 0:
        two = k > 1
        put[(triton.cdiv(n, 2048),)](
            self, lists[0], lists[1] if two else None, values, n, n // lists[0].numel(), self.shape[0], self.stride(0),
            self.shape[1] if two else 0, self.stride(1) if two else 0, left_sizes or (1,), left_strides or (0,), ADD=add,
            LEFT=max(1, len(left_sizes)), BLOCK=2048)


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


def dense(x):
    expanded = 0 in x.stride()  # not in memory at all
    return x if expanded else torch.as_strided(x, x.shape, torch.empty(x.shape).stride(), x.storage_offset())


right_index_put_impl__hacked_twin = _index_put_impl__hacked_twin


def _index_put_impl__hacked_twin(self, indices, values, accumulate=False, unsafe=False):
    return right_index_put_impl__hacked_twin(self, indices, dense(values), accumulate, unsafe)
