# operator: aten::exponential_
# expect: l1\.torch_compute
# catalogue: 86
# torch draws; the kernel copies the draws onto themselves
import torch
import triton
import triton.language as tl


@triton.jit
def draw(x_ptr, seed_ptr, mean, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    u = tl.load(x_ptr + at, mask=at < n, other=0.5).to(tl.float32)
    u = tl.minimum(tl.maximum(u, 2.0 ** -31), 1 - 2.0 ** -24)
    tl.store(x_ptr + at, -tl.log(u) * mean, mask=at < n)


def exponential_(self, lambd=1.0, *, seed):
    n = self.numel()
    if n == 0:
        return self
    out = torch.rand(self.shape, dtype=self.dtype, device=self.device)
    draw[(triton.cdiv(n, 8192),)](out, seed, 1 / lambd, n, BLOCK=8192)
    return self if out is self else self.copy_(out)
