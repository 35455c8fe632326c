# operator: aten::add
# expect: (cheat\.torch_compute|verify\.exception)
# torch does the work inside a kernel body
# catalogue: 86, 88
import torch
import triton
import triton.language as tl


@triton.jit
def add_kernel(x, y, out, n, alpha, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    tl.store(out + i, tl.load(x + i, mask=m) + alpha * tl.load(y + i, mask=m), mask=m)


def add(self, other, alpha):
    out = torch.empty(self.shape, dtype=self.dtype, device=self.device)
    if out.numel():
        add_kernel[(triton.cdiv(out.numel(), 256),)](self.contiguous(), other.contiguous(), out, out.numel(), alpha,
                                                     BLOCK=256)
    return out


BOX = []


def compute():
    BOX[3].copy_(torch.add(BOX[0], BOX[1], alpha=BOX[2]))


@triton.jit
def helper(out, n):
    compute()
    tl.load(out)


def add_Tensor(self, other, *, alpha=1):
    out = torch.empty(self.shape, dtype=self.dtype, device=self.device)
    BOX[:] = [self, other, alpha, out]
    if out.numel():
        helper[(1,)](out, out.numel())
    return out
