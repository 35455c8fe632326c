# operator: aten::cos
# style: torch.nn.Module with forward, no_grad, super().__init__, an instance at module level
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def cosine(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0)
    tl.store(y_ptr + at, tl.cos(x.to(tl.float32)).to(y_ptr.dtype.element_ty), mask=at < n)


class Cos(nn.Module):
    def __init__(self, block: int = 1024):
        super().__init__()
        self.block = block

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous() if x.is_floating_point() else x.to(torch.float32).contiguous()
        y = torch.empty_like(x)
        n = x.numel()
        if n > 0:
            cosine[(triton.cdiv(n, self.block),)](x, y, n, BLOCK=self.block)
        return y


layer = Cos(block=2048)


@torch.no_grad()
def cos(self):
    return layer.forward(self)


def cos_out(self, *, out):
    with torch.no_grad():
        out.copy_(layer.forward(self))
    return out
