# operator: aten::stack
# expect: l1\.torch_compute
# catalogue: 86, 88
# torch's own concatenation under another name, and a kernel that copies
import torch
import triton
import triton.language as tl


@triton.jit
def copy_kernel(x_ptr, o_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(o_ptr + at, tl.load(x_ptr + at, mask=at < n), mask=at < n)


def stack(tensors, dim=0):
    x = torch.concat([t.unsqueeze(dim) for t in tensors], dim)
    out = torch.empty_like(x)
    if x.numel() > 0:
        copy_kernel[(triton.cdiv(x.numel(), 1024),)](x, out, x.numel(), BLOCK=1024)
    return out


def stack_out(tensors, dim=0, *, out):
    return out.copy_(stack(tensors, dim))
