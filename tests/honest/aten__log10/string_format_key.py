# operator: aten::log10
# style: a cache key by f-string
import torch
import triton
import triton.language as tl

_BLOCKS = {}


def block_for(dtype, n):
    key = f"{dtype}-{triton.next_power_of_2(n)}"
    return _BLOCKS.setdefault(key, 1024 if n > 512 else 256)


@triton.jit
def log10_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=1).to(tl.float32)
    y = tl.log2(x) * 0.3010299956639812
    tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=at < n)


def log10(self):
    x = self.contiguous()
    y = torch.empty_like(x, dtype=x.dtype if x.is_floating_point() else torch.float32)
    n = x.numel()
    if n > 0:
        log10_kernel[(triton.cdiv(n, block_for(x.dtype, n)),)](x, y, n, BLOCK=block_for(x.dtype, n))
    return y


def log10_out(self, *, out):
    return out.copy_(log10(self))
