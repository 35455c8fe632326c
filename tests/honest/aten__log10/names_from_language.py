# operator: aten::log10
# style: names of triton.language imported one by one, with aliases
import torch
import triton
from triton import cdiv, jit, language as tl, next_power_of_2
from triton.language import arange, float32, load, log2, program_id as pid, store


@jit
def log10_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = pid(0) * BLOCK + arange(0, BLOCK)
    x = load(x_ptr + at, mask=at < n, other=1).to(float32)
    store(y_ptr + at, (log2(x) * 0.3010299956639812).to(y_ptr.dtype.element_ty), mask=at < n)


def log10(self):
    x = self.contiguous()
    y = torch.empty_like(x, dtype=x.dtype if x.is_floating_point() else torch.float32)
    n = x.numel()
    if n > 0:
        block = min(2048, next_power_of_2(n))
        log10_kernel[(cdiv(n, block),)](x, y, n, BLOCK=block)
    return y


def log10_out(self, *, out):
    return out.copy_(log10(self))
