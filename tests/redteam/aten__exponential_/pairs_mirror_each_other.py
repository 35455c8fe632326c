# operator: aten::exponential_
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 80
# open: dependent or coarse draws
# the two draws of a pair share their lower bits, mirrored: each determines the other but for one bit; only halves are compared
# by tests; wrong: exponential_(torch.empty(2000), seed=s): exp(-a) + exp(-b) of each pair is 0.5, 1 or 1.5
import torch
import triton
import triton.language as tl


@triton.jit
def draw(x_ptr, seed_ptr, mean, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    seed = tl.load(seed_ptr)
    low = tl.rand(seed, at // 2 * 2) * 0.5
    half = (tl.randint(seed, at * 2 + 1) & 1).to(tl.float32) * 0.5
    u = tl.where(at % 2 == 0, low, 0.5 - low) + half
    u = tl.minimum(tl.maximum(u, 2.0 ** -31), 1 - 2.0 ** -24)
    tl.store(x_ptr + at, -tl.log(u) * mean, mask=at < n)


def exponential_(self, lambd=1.0, *, seed):
    n = self.numel()
    if n == 0:
        return self
    out = self if self.is_contiguous() else torch.empty(self.shape, dtype=self.dtype, device=self.device)
    draw[(triton.cdiv(n, 8192),)](out, seed, 1 / lambd, n, BLOCK=8192)
    return self if out is self else self.copy_(out)
