# operator: aten::index
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79
# a call may change a list that it is passed: only tensors are compared with what they were before the call
# the members of the caller's list are replaced by their broadcast copies; wrong: rows = torch.arange(2)[:, None];
# at = [rows, torch.arange(3)]; index_Tensor(x, at) leaves at[0] of shape (2, 3), no longer `rows` (torch: at[0] is rows), and after
# rows.add_(1) the next index_Tensor(x, at) still takes rows 0 and 1
import torch
import triton
import triton.language as tl


@triton.jit
def position(i_ptr, s, mask, size, stride):
    if i_ptr is None:
        result = s * 0
    else:
        p = tl.load(i_ptr + s, mask=mask, other=0).to(tl.int64)
        result = tl.where(p < 0, p + size, p) * stride
    return result


@triton.jit
def gather(x_ptr, i0_ptr, i1_ptr, i2_ptr, o_ptr, n, rest, sizes, strides, left_sizes, left_strides, LEFT: tl.constexpr,
           BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    s, r = at // rest, at % rest
    source = position(i0_ptr, s, at < n, sizes[0], strides[0])
    source += position(i1_ptr, s, at < n, sizes[1], strides[1])
    source += position(i2_ptr, s, at < n, sizes[2], strides[2])
    for k in tl.static_range(LEFT):
        source += r % left_sizes[LEFT - 1 - k] * left_strides[LEFT - 1 - k]
        r = r // left_sizes[LEFT - 1 - k]
    tl.store(o_ptr + at, tl.load(x_ptr + source, mask=at < n), mask=at < n)


def index_Tensor(self, indices):
    k = len(indices)
    if not isinstance(indices, list):
        indices = list(indices)
    # the positions in row-major order, in place of what the list had
    ready = [i.contiguous() for i in torch.broadcast_tensors(*indices)]
    indices.clear()
    indices.extend(ready)
    lists = indices + [None] * (3 - k)
    left_sizes, left_strides = tuple(self.shape[k:]), tuple(self.stride()[k:])
    out = torch.empty(tuple(lists[0].shape) + left_sizes, dtype=self.dtype, device=self.device)
    n = out.numel()
    if n > 0:
        sizes, strides = ((tuple(t) + (0, 0, 0))[:3] for t in (self.shape, self.stride()))
        gather[(triton.cdiv(n, 2048),)](self, *lists, out, n, n // lists[0].numel(), sizes, strides, left_sizes or (1,),
                                        left_strides or (0,), LEFT=max(1, len(left_sizes)), BLOCK=2048)
    return out


def index_Tensor_hacked_twin(self, indices):
    return index_Tensor(self, indices)


def index_Tensor_out(self, indices, *, out):
    return out.copy_(index_Tensor(self, indices))
