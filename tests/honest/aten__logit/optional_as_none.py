# operator: aten::logit
# style: None as an argument of the kernel, compared with None inside; typing.Optional and Union
from typing import Optional, Union

import torch
import triton
import triton.language as tl


@triton.jit
def logit_kernel(x_ptr, y_ptr, n, eps, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    z = tl.load(x_ptr + at, mask=at < n, other=0).to(tl.float32)
    if eps is not None:
        z = tl.where(z < eps, eps, tl.where(z > 1.0 - eps, 1.0 - eps, z))
    tl.store(y_ptr + at, tl.log(z / (1.0 - z)).to(y_ptr.dtype.element_ty), mask=at < n)


def logit(self: torch.Tensor, eps: Optional[float] = None) -> Union[torch.Tensor, None]:
    x = self.contiguous()
    y = torch.empty_like(x, dtype=x.dtype if x.is_floating_point() else torch.float32)
    n = x.numel()
    if n > 0:
        logit_kernel[(triton.cdiv(n, 2048),)](x, y, n, eps, BLOCK=2048)
    return y


def logit_out(self, eps=None, *, out):
    return out.copy_(logit(self, eps))
