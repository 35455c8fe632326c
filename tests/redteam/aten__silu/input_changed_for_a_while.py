# operator: aten::silu
# expect: verify\.mutation
# catalogue: 58
# device: cpu
# the input is memory for what lies between two kernels; the last one restores it
import torch
import triton
import triton.language as tl


@triton.jit
def activate(x_ptr, kept_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(kept_ptr + at, x, mask=at < n)
    wide = x.to(tl.float32)
    tl.store(x_ptr + at, (wide / (1 + tl.exp(-wide))).to(x_ptr.dtype.element_ty), mask=at < n)


@triton.jit
def restore(x_ptr, kept_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n), mask=at < n)
    tl.store(x_ptr + at, tl.load(kept_ptr + at, mask=at < n), mask=at < n)


def silu(self):
    y = torch.empty(self.shape, dtype=self.dtype, device=self.device)
    n = y.numel()
    if n > 0:
        x = self.contiguous()
        kept = torch.empty_like(x)
        grid = (triton.cdiv(n, 1024),)
        activate[grid](x, kept, n, BLOCK=1024)
        restore[grid](x, kept, y, n, BLOCK=1024)
    return y


def silu_out(self, *, out):
    return out.copy_(silu(self))
