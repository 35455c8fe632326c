# operator: aten::log10
# style: a factory of grids
import torch
import triton
import triton.language as tl


def make_grid(n):
    def grid(meta):
        return (triton.cdiv(n, meta["BLOCK"]),)
    return grid


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
        log10_kernel[make_grid(n)](x, y, n, BLOCK=1024)
    return y


def log10_out(self, *, out):
    return out.copy_(log10(self))
