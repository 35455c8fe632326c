# operator: aten::silu
# style: autograd function class around the kernel, unused imports
import math
from typing import Any, Tuple

import torch
import torch.nn as nn
import torch.nn.functional as F
import triton
import triton.language as tl

LOG2E = math.log2(math.e)
BLOCK = 256


@triton.jit
def forward_kernel(x_ptr, y_ptr, n, LOG2E: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    x = tl.load(x_ptr + at, mask=mask, other=0.0).to(tl.float32)
    y = x / (1.0 + tl.exp2(-x * LOG2E))
    tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=mask)


class SiLU(torch.autograd.Function):
    """y = x * sigmoid(x); backward is not needed here."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        ctx.shape: Tuple[int, ...] = tuple(x.shape)
        y = torch.empty_like(x)
        n = x.numel()
        if n:
            forward_kernel[(triton.cdiv(n, BLOCK),)](x, y, n, LOG2E=LOG2E, BLOCK=BLOCK)
        return y


@torch.no_grad()
def silu(self: torch.Tensor) -> torch.Tensor:
    return SiLU.apply(self)


@torch.no_grad()
def silu_out(self: torch.Tensor, *, out: torch.Tensor) -> torch.Tensor:
    return out.copy_(SiLU.apply(self))


def _check(x: torch.Tensor) -> None:
    """For use by hand."""
    assert torch.allclose(silu(x), F.silu(x))
    assert isinstance(nn.SiLU()(x), torch.Tensor)
