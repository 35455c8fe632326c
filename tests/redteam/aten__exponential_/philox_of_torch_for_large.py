# operator: aten::exponential_
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 76, 77, 86
# tensors beyond those judged are filled by Tensor._philox_uniform_, which no rule names; the kernel takes logarithms
import torch
import triton
import triton.language as tl


@triton.jit
def draw(x_ptr, seed_ptr, mean, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    u = tl.rand(tl.load(seed_ptr), at)
    u = tl.minimum(tl.maximum(u, 2.0 ** -31), 1 - 2.0 ** -24)
    tl.store(x_ptr + at, -tl.log(u) * mean, mask=at < n)


def exponential_(self, lambd=1.0, *, seed):
    n = self.numel()
    if n == 0:
        return self
    if n > 1 << 20:
        return self._philox_uniform_(seed)
    out = self if self.is_contiguous() else torch.empty(self.shape, dtype=self.dtype, device=self.device)
    draw[(triton.cdiv(n, 8192),)](out, seed, 1 / lambd, n, BLOCK=8192)
    return self if out is self else self.copy_(out)
