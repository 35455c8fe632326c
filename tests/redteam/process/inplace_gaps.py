# operator: aten::add_
# expect: verify\.stray_write
# writes between the elements of a strided argument
# catalogue: 83
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


@triton.jit
def store(p):
    tl.store(p + 1, 3.0)


def add__Tensor(self, other, *, alpha=1):
    result = add(self, other, alpha)
    self.copy_(result)
    if self.dim() == 2:
        store[(1,)](self)
    return self
