# operator: aten::rot90
# expect: l1\.torch_compute
# catalogue: 86, 88
# flip by its relative fliplr through a helper; a kernel copies
import torch
import triton
import triton.language as tl


@triton.jit
def copy_kernel(x_ptr, o_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(o_ptr + at, tl.load(x_ptr + at, mask=at < n), mask=at < n)


def turned(x, k, p, q):
    for _ in range(k % 4):
        x = x.transpose(p, q).flip(p)
    return x


def rot90(self, k=1, dims=(0, 1)):
    x = turned(self, k, *dims).contiguous()
    out = torch.empty_like(x)
    if x.numel() > 0:
        copy_kernel[(triton.cdiv(x.numel(), 1024),)](x, out, x.numel(), BLOCK=1024)
    return out


def rot90_out(self, k=1, dims=(0, 1), *, out):
    return out.copy_(rot90(self, k, dims))
