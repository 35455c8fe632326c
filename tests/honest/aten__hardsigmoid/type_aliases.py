# operator: aten::hardsigmoid
# style: TypeVar, Protocol, Optional annotations
from __future__ import annotations

from typing import Callable, Final, Optional, Protocol, Union

import torch
import triton
import triton.language as tl

Number = Union[int, float]
BLOCK: Final[int] = 1024


class Unary(Protocol):
    def __call__(self, x: torch.Tensor) -> torch.Tensor: ...


def apply(function: Callable[[torch.Tensor], torch.Tensor], x: Optional[torch.Tensor]) -> Optional[torch.Tensor]:
    return None if x is None else function(x)


@triton.jit
def hardsigmoid_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    y = x.to(tl.float32) * (1.0 / 6.0) + 0.5
    y = tl.maximum(y, 0.0, propagate_nan=tl.PropagateNan.ALL)
    y = tl.minimum(y, 1.0, propagate_nan=tl.PropagateNan.ALL)
    tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=at < n)


def hardsigmoid(self):
    x = self.contiguous()
    y = torch.empty_like(x)
    n = x.numel()
    if n > 0:
        hardsigmoid_kernel[(triton.cdiv(n, BLOCK),)](x, y, n, BLOCK=BLOCK)
    return y


def hardsigmoid_out(self, *, out):
    return out.copy_(hardsigmoid(self))
