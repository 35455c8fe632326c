# operator: aten::clone
# expect: cheat\.torch_copies
# catalogue: 88, 89
# torch makes a dense copy of what has gaps, the kernel copies it once more
import torch
import triton
import triton.language as tl


@triton.jit
def move(x_ptr, o_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(o_ptr + at, tl.load(x_ptr + at, mask=at < n), mask=at < n)


def clone(self):
    out = torch.empty(self.shape, dtype=self.dtype, device=self.device)
    if out.numel() > 0:
        move[(triton.cdiv(out.numel(), 8192),)](self.contiguous(), out, out.numel(), BLOCK=8192)
    return out


def clone_out(self, *, out):
    return out.copy_(clone(self))
