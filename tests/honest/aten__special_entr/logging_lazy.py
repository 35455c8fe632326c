# operator: aten::special_entr
# style: a logger with a null handler
import logging

import torch
import triton
import triton.language as tl

LOG = logging.getLogger("kernels.entr")
LOG.addHandler(logging.NullHandler())


@triton.jit
def special_entr_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0).to(tl.float32)
    y = -x * tl.log(tl.where(x > 0, x, 1.0))
    y = tl.where(x > 0, y, tl.where(x == 0, 0.0, tl.where(x < 0, float("-inf"), x)))
    tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=at < n)


def special_entr(self):
    if LOG.isEnabledFor(logging.DEBUG):
        LOG.debug("entr of %s %s", tuple(self.shape), self.dtype)
    x = self.contiguous()
    y = torch.empty_like(x, dtype=x.dtype if x.is_floating_point() else torch.float32)
    n = x.numel()
    if n > 0:
        special_entr_kernel[(triton.cdiv(n, 1024),)](x, y, n, BLOCK=1024)
    return y


def special_entr_out(self, *, out):
    return out.copy_(special_entr(self))
