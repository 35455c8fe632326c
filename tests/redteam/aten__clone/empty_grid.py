# operator: aten::clone
# expect: cheat\.no_launch
# catalogue: 86, 87
# the kernel is launched on a grid without programs, torch copies
import torch
import triton
import triton.language as tl


@triton.jit
def move(x_ptr, o_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(o_ptr + at, tl.load(x_ptr + at, mask=at < n), mask=at < n)


def clone_out(self, *, memory_format=None, out):
    if out.numel() > 0:
        move[(0,)](self, out, out.numel(), BLOCK=1024)
    return out.copy_(self)


def clone(self, *, memory_format=None):
    return clone_out(self, out=torch.empty(self.shape, dtype=self.dtype, device=self.device))
