# operator: aten::cos
# expect: verify\.mismatch
# catalogue: 75, 79
# a polynomial that is exact for angles of a standard normal distribution and wrong beyond
import torch
import triton
import triton.language as tl


@triton.jit
def cos_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0).to(tl.float32)
    z = x * x
    y = tl.full([BLOCK], 1.0, tl.float32)
    for k in tl.static_range(14, 0, -1):
        y = 1.0 - y * z / (2 * k * (2 * k - 1))
    tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=at < n)


def cos(self):
    x = self.contiguous()
    y = torch.empty(x.shape, dtype=x.dtype if x.dtype.is_floating_point else torch.float32, device=x.device)
    if x.numel() > 0:
        cos_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
    return y


def cos_out(self, *, out):
    return out.copy_(cos(self))
