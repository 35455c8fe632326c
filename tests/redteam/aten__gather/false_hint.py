# operator: aten::gather
# expect: verify\.out_of_bounds
# catalogue: 79, 80
# tl.max_contiguous and tl.multiple_of on numbers that are neither: a GPU loads vectors from the first place
import torch
import triton
import triton.language as tl


@triton.jit
def gather_last(x_ptr, i_ptr, o_ptr, n, picked, size, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    index = tl.load(i_ptr + at, mask=at < n, other=0)
    place = tl.max_contiguous(tl.multiple_of(at // picked * size + index, 4), 4)
    value = tl.load(x_ptr + place, mask=at < n)
    tl.store(o_ptr + at, value, mask=at < n)


def gather(self, dim, index, *, sparse_grad=False):
    if index.dim() == 0:
        return gather(self.reshape(1), 0, index.view(1)).view(())
    if self.dim() == 0:
        self = self.view(1)
    x = self
    for d, size in enumerate(index.shape):
        if d != dim % index.dim():
            x = x.narrow(d, 0, size)
    x = x.movedim(dim, -1).contiguous()
    moved = index.movedim(dim, -1).contiguous()
    out = torch.empty(moved.shape, dtype=x.dtype, device=x.device)
    n = out.numel()
    if n > 0:
        source, target = (t.view(torch.int8) if t.dtype == torch.bool else t for t in (x, out))
        gather_last[(triton.cdiv(n, 1024),)](source, moved, target, n, moved.shape[-1], x.shape[-1], BLOCK=1024)
    return out.movedim(-1, dim).contiguous()


def gather_out(self, dim, index, *, sparse_grad=False, out):
    return out.copy_(gather(self, dim, index, sparse_grad=sparse_grad))
