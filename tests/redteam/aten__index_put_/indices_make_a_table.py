# operator: aten::index_put_
# expect: (verify|cheat)\..*
# catalogue: 85
# open: two lists of indices whose roles in the broadcast are exchanged
# two lists of different shapes are taken for a table, the first naming rows and the second columns (like x[i[:, None], j]):
# they are flattened and joined by an outer product; wrong where the first one is the row and the second one the column,
# indices [i of shape (n,), j of shape (m, 1)], whose place (s, t) is (i[t], j[s])
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


def as_places(indices):
    """The shape S of the places and flat lists of their positions."""
    if len(indices) == 1 or indices[0].shape == indices[1].shape:
        return indices[0].shape, [i.contiguous() for i in indices]
    i, j = indices
    if 1 in (i.numel(), j.numel()):
        both = torch.broadcast_tensors(i, j)
        return both[0].shape, [t.contiguous() for t in both]
    # rows and columns of a table
    shape = torch.broadcast_shapes(i.shape, j.shape)
    rows, columns = i.numel(), j.numel()
    if rows * columns != shape.numel():
        both = torch.broadcast_tensors(i, j)
        return shape, [t.contiguous() for t in both]
    return shape, [i.reshape(rows, 1).expand(rows, columns).contiguous(), j.reshape(1, columns).expand(rows, columns).contiguous()]


def put_into(self, indices, values, add):
    shape, lists = as_places(indices)
    k = len(lists)
    left_sizes, left_strides = tuple(self.shape[k:]), tuple(self.stride()[k:])
    values = values.expand(tuple(shape) + left_sizes).contiguous()
    n = values.numel()
    if n > 0:
        two = k > 1
        put[(triton.cdiv(n, 2048),)](
            self, lists[0], lists[1] if two else None, values, n, n // lists[0].numel(), self.shape[0], self.stride(0),
            self.shape[1] if two else 0, self.stride(1) if two else 0, left_sizes or (1,), left_strides or (0,), ADD=add,
            LEFT=max(1, len(left_sizes)), BLOCK=2048)


def index_put_(self, indices, values, accumulate=False):
    if accumulate and self.dtype in (torch.float16, torch.bfloat16):
        wide = self.to(torch.float32)
        put_into(wide, indices, values, True)
        return self.copy_(wide)
    put_into(self, indices, values, accumulate)
    return self


def index_put__hacked_twin(self, indices, values, accumulate=False):
    return index_put_(self, indices, values, accumulate)


# wrong call: self = zeros(3, 3), indices = [tensor([0, 1]), tensor([[0], [2]])], values = tensor([[1., 2.], [3., 4.]])
# right: self[0, 0] = 1, self[1, 0] = 2, self[0, 2] = 3, self[1, 2] = 4
# wrong: self[0, 0] = 1, self[0, 2] = 2, self[1, 0] = 3, self[1, 2] = 4
