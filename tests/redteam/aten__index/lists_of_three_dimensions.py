# operator: aten::index
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 84
# open: parameters beyond the templates
# positions of more than three dimensions give a result with one flat dimension in their place; wrong:
# index_Tensor(torch.arange(9.0), [torch.zeros(2, 2, 2, 2, dtype=torch.int64)]).shape is (16,)
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
    lists = [i.contiguous() for i in torch.broadcast_tensors(*indices)] + [None] * (3 - k)
    left_sizes, left_strides = tuple(self.shape[k:]), tuple(self.stride()[k:])
    front = tuple(lists[0].shape) if lists[0].dim() <= 3 else (lists[0].numel(),)
    out = torch.empty(front + left_sizes, dtype=self.dtype, device=self.device)
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
