# operator: aten::gather
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79, 84
# subnormal float32 and bfloat16 numbers become 0 in a copy that is to be exact
import torch
import triton
import triton.language as tl


@triton.jit
def gather_last(x_ptr, i_ptr, o_ptr, n, picked, size, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    index = tl.load(i_ptr + at, mask=at < n, other=0)
    value = tl.load(x_ptr + at // picked * size + index, mask=at < n)
    if value.dtype.is_floating():
        if value.dtype != tl.float16:
            value = tl.where(tl.abs(value.to(tl.float32)) < 1.1754943508222875e-38, value * 0.0, value)
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
