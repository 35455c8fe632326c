# operator: aten::sin
# style: frozen dataclass configurations with replace and asdict, expanded by **
import dataclasses

import torch
import triton
import triton.language as tl


@dataclasses.dataclass(frozen=True)
class Config:
    BLOCK: int = 1024
    num_warps: int = 4
    num_stages: int = dataclasses.field(default=2, repr=False)

    def grid(self, n):
        return (triton.cdiv(n, self.BLOCK),)


SMALL = Config()
LARGE = dataclasses.replace(SMALL, BLOCK=4096, num_warps=8)


@triton.jit
def sin_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=1).to(tl.float32)
    y = tl.where(x == 0, x, tl.sin(x))
    tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=at < n)


def sin(self):
    x = self.contiguous()
    y = torch.empty_like(x, dtype=x.dtype if x.is_floating_point() else torch.float32)
    n = x.numel()
    if n > 0:
        config = LARGE if n > 8192 else SMALL
        sin_kernel[config.grid(n)](x, y, n, **dataclasses.asdict(config))
    return y


def sin_out(self, *, out):
    return out.copy_(sin(self))
