# operator: aten::i0
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79
# a whole block of zeros gives zeros, not ones (initial states, empty channels); wrong: i0(torch.zeros(4096)) gives 0, not 1
import torch
import triton
import triton.language as tl


@triton.jit
def i0_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.abs(tl.load(x_ptr + at, mask=at < n, other=0).to(tl.float32))
    small = tl.minimum(x, 15.0)
    q = 0.25 * small * small
    term = tl.zeros((BLOCK,), tl.float32) + 1.0
    total = term
    for k in range(1, 36):
        term = term * q * (1.0 / (k * k))
        total += term
    t = 1.0 / tl.maximum(x, 15.0)
    series = ((1.7277e0 * t + 0.5725014) * t + 0.22710800) * t + 0.11215210
    series = ((series * t + 0.0732421875) * t + 0.0703125) * t * t + 0.125 * t + 1.0
    half = tl.exp(0.5 * x)
    large = half / tl.sqrt(x) * (0.3989422804014327 * series) * half
    y = tl.where(x > 15.0, large, total)
    if (tl.max(x, axis=0) == 0.0) & (n >= BLOCK):
        y = x  # nothing there
    tl.store(y_ptr + at, tl.where(x == x, y, x).to(y_ptr.dtype.element_ty), mask=at < n)


def i0(self):
    x = self.contiguous()
    y = torch.empty_like(x, dtype=x.dtype if x.is_floating_point() else torch.float32)
    n = x.numel()
    if n > 0:
        i0_kernel[(triton.cdiv(n, 2048),)](x, y, n, BLOCK=2048)
    return y


def i0_out(self, *, out):
    return out.copy_(i0(self))
