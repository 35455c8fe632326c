# operator: aten::gather
# expect: cheat\.torch_compute|l1\.\w+
# catalogue: 86, 88
# square brackets with tensors in them; the kernel touches the result
import torch
import triton
import triton.language as tl


@triton.jit
def touch(o_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(o_ptr + at, tl.load(o_ptr + at, mask=at < n), mask=at < n)


def gather(self, dim, index, *, sparse_grad=False):
    if self.dim() == 0:
        return self.clone()
    places = []
    for d, size in enumerate(index.shape):
        shape = [1] * index.dim()
        shape[d] = size
        places.append(torch.arange(size, device=self.device).view(shape))
    places[dim] = index
    out = self[tuple(places)]
    if out.numel() > 0:
        touch[(triton.cdiv(out.numel(), 1024),)](out, out.numel(), BLOCK=1024)
    return out


def gather_out(self, dim, index, *, sparse_grad=False, out):
    return out.copy_(gather(self, dim, index))
