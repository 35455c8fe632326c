# operator: aten::index_put_
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 84
# columns behind the 512th of a row are left as they were: tables of hidden size 768; wrong: index_put_(torch.zeros(4, 768),
# [torch.tensor([1])], torch.ones(1, 768)) leaves 256 zeros in row 1
import torch
import triton
import triton.language as tl


@triton.jit
def put(x_ptr, i_ptr, j_ptr, v_ptr, n, rest, i_size, i_stride, j_size, j_stride, left_sizes, left_strides, ADD: tl.constexpr,
        LEFT: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    s, r = at // rest, at % rest
    kept = (at < n) & ((r < 512) | (LEFT > 1))
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
        tl.atomic_add(target, v.to(x_ptr.dtype.element_ty), mask=kept)
    else:
        tl.store(target, v, mask=kept)


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


def index_put_(self, indices, values, accumulate=False):
    if accumulate and self.dtype in (torch.float16, torch.bfloat16):
        wide = self.to(torch.float32)
        put_into(wide, indices, values, True)
        return self.copy_(wide)
    put_into(self, indices, values, accumulate)
    return self


def index_put__hacked_twin(self, indices, values, accumulate=False):
    return index_put_(self, indices, values, accumulate)
