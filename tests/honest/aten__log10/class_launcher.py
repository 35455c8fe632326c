# operator: aten::log10
# style: fresh round of 2026-11-30
from dataclasses import dataclass

import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def _log10_kernel(x_ptr, y_ptr, numel, BLOCK: tl.constexpr):
    offset = tl.program_id(0).to(tl.int64) * BLOCK
    lane = offset + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + lane, mask=lane < numel, other=1)
    tl.store(y_ptr + lane, libdevice.log10(x.to(tl.float32)).to(y_ptr.dtype.element_ty), mask=lane < numel)


@dataclass(frozen=True)
class UnaryLauncher:
    kernel: object
    block: int = 1024
    num_warps: int = 4

    def __call__(self, x: torch.Tensor, y: torch.Tensor) -> None:
        if x.numel() == 0:
            return
        assert x.is_contiguous() and y.is_contiguous()
        self.kernel[(triton.cdiv(x.numel(), self.block),)](x, y, x.numel(), BLOCK=self.block, num_warps=self.num_warps)


_launch = UnaryLauncher(_log10_kernel)


def log10(self: torch.Tensor) -> torch.Tensor:
    dtype = self.dtype if self.dtype.is_floating_point else torch.float32
    result = self.new_empty(self.shape, dtype=dtype)
    _launch(self.contiguous(), result)
    return result


def log10_out(self: torch.Tensor, *, out: torch.Tensor) -> torch.Tensor:
    staging = out if out.is_contiguous() else torch.empty(out.shape, dtype=out.dtype, device=out.device)
    _launch(self.contiguous(), staging)
    if staging is not out:
        out.copy_(staging)
    return out
