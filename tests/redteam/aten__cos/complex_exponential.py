# operator: aten::cos
# expect: l1\.torch_compute
# catalogue: 86, 88
# the real part of a polar number, made of names that look like construction
import torch
import triton
import triton.language as tl


@triton.jit
def copy_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n), mask=at < n)


def cos(self):
    x = self.to(torch.float32).contiguous()
    part = torch.view_as_real(torch.polar(torch.ones_like(x), x)).select(-1, 0).contiguous()
    y = torch.empty(x.shape, dtype=torch.float32, device=x.device)
    if x.numel() > 0:
        copy_kernel[(triton.cdiv(x.numel(), 1024),)](part, y, x.numel(), BLOCK=1024)
    return y.to(self.dtype if self.dtype.is_floating_point else torch.float32)


def cos_out(self, *, out):
    return out.copy_(cos(self))
