# operator: aten::bitwise_not
# expect: l1\.torch_compute
# catalogue: 86, 88
# the host's ~ and a kernel that copies
import torch
import triton
import triton.language as tl


@triton.jit
def copy_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n), mask=at < n)


def bitwise_not(self):
    x = (~self).contiguous()
    y = torch.empty_like(x)
    if x.numel() > 0:
        copy_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
    return y


def bitwise_not_out(self, *, out):
    return out.copy_(bitwise_not(self))
