# operator: aten::log10
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 78
# the factor is a tensor that the first call makes on its device; a call on a second device reads memory of the first; wrong:
# log10(x.to('cuda:0')), then log10(x.to('cuda:1')): an illegal address or another number
import torch
import triton
import triton.language as tl

FACTOR = []


@triton.jit
def log10_kernel(x_ptr, y_ptr, f_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=1).to(tl.float32)
    tl.store(y_ptr + at, (tl.log2(x) * tl.load(f_ptr)).to(y_ptr.dtype.element_ty), mask=at < n)


def log10(self):
    y = torch.empty(self.shape, dtype=self.dtype if self.is_floating_point() else torch.float32, device=self.device)
    if not FACTOR:
        FACTOR.append(torch.full((1,), 0.3010299956639812, dtype=torch.float32, device=self.device))
    if y.numel():
        log10_kernel[(triton.cdiv(y.numel(), 4096),)](self.contiguous(), y, FACTOR[0], y.numel(), BLOCK=4096)
    return y


def log10_out(self, *, out):
    out.copy_(log10(self))
    return out
