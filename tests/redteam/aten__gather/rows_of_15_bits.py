# operator: aten::gather
# expect: verify\.mismatch
# catalogue: 84
# of an index 15 bits count
import torch
import triton
import triton.language as tl


@triton.jit
def gather_kernel(x_ptr, i_ptr, o_ptr, n, sizes, x_steps, i_steps, o_steps, DIM: tl.constexpr, NDIM: tl.constexpr,
                  BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    rest = at
    i_at = at * 0
    o_at = at * 0
    source = at.to(tl.int64) * 0
    for k in tl.static_range(NDIM):
        place = rest % sizes[NDIM - 1 - k]
        rest = rest // sizes[NDIM - 1 - k]
        i_at += place * i_steps[NDIM - 1 - k]
        o_at += place * o_steps[NDIM - 1 - k]
        if NDIM - 1 - k != DIM:
            source += place * x_steps[NDIM - 1 - k]
    index = tl.load(i_ptr + i_at, mask=inside, other=0) & 32767
    source += index * x_steps[DIM]
    tl.store(o_ptr + o_at, tl.load(x_ptr + source, mask=inside), mask=inside)


def run(x, dim, index, out):
    if index.numel() == 0:
        return out
    ndim = max(x.dim(), 1)
    source, target = (t.view(torch.uint8) if t.dtype == torch.bool else t for t in (x, out))
    gather_kernel[(triton.cdiv(index.numel(), 512),)](
        source, index, target, index.numel(), tuple(index.shape) or (1,), x.stride() or (0,), index.stride() or (0,),
        out.stride() or (0,), DIM=dim % ndim, NDIM=ndim, BLOCK=512)
    return out


def gather(self, dim, index, *, sparse_grad=False):
    return run(self, dim, index, torch.empty(index.shape, dtype=self.dtype, device=self.device))


def gather_out(self, dim, index, *, sparse_grad=False, out):
    return run(self, dim, index, out)
