# operator: aten::index_select
# expect: verify\.host_dependent
# catalogue: 86, 88
# reads the indices into Python and copies slice by slice; the kernel touches the result
import torch
import triton
import triton.language as tl


@triton.jit
def touch(o_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(o_ptr + at, tl.load(o_ptr + at, mask=at < n), mask=at < n)


def index_select(self, dim, index):
    shape = list(self.shape)
    if shape:
        shape[dim] = index.numel()
    out = torch.empty(shape, dtype=self.dtype, device=self.device)
    for j, at in enumerate(index.view(-1).tolist()):
        if shape:
            out.select(dim, j).copy_(self.select(dim, at))
        else:
            out.copy_(self)
    if out.numel() > 0:
        touch[(triton.cdiv(out.numel(), 1024),)](out, out.numel(), BLOCK=1024)
    return out


def index_select_out(self, dim, index, *, out):
    return out.copy_(index_select(self, dim, index))
