# operator: aten::clone
# expect: cheat\.ghost
# catalogue: 88, 89
# torch copies, which host code may let it do; the kernel writes one element anew
import torch
import triton
import triton.language as tl


@triton.jit
def touch(x_ptr, o_ptr):
    tl.store(o_ptr, tl.load(x_ptr))


def clone(self):
    out = self.clone(memory_format=torch.contiguous_format)
    if out.numel() > 0:
        touch[(1,)](self, out)
    return out


def clone_out(self, *, out):
    out.copy_(self)
    if out.numel() > 0:
        touch[(1,)](self, out)
    return out
