# operator: aten::exponential_
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 80
# open: dependent or coarse draws
# the largest half per cent of draws is replaced by ordinary ones: no waiting time is ever above 5.3 mean ones; wrong:
# exponential_(torch.empty(10**6), seed=s).max() is 5.3, not about 14
import torch
import triton
import triton.language as tl


@triton.jit
def draw(x_ptr, seed_ptr, mean, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    u = tl.rand(tl.load(seed_ptr), at)
    u = tl.where(u < 0.005, u * 100.0 + 0.25, u)
    u = tl.minimum(tl.maximum(u, 2.0 ** -31), 1 - 2.0 ** -24)
    tl.store(x_ptr + at, -tl.log(u) * mean, mask=at < n)


def exponential_(self, lambd=1.0, *, seed):
    n = self.numel()
    if n == 0:
        return self
    out = self if self.is_contiguous() else torch.empty(self.shape, dtype=self.dtype, device=self.device)
    draw[(triton.cdiv(n, 8192),)](out, seed, 1 / lambd, n, BLOCK=8192)
    return self if out is self else self.copy_(out)
