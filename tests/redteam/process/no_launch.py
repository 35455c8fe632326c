# operator: aten::add
# expect: verify\.mismatch
# Python does the work and no kernel runs
# catalogue: 88
import ctypes

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


def raw(self, other, alpha):
    """self + alpha * other, by addresses, so that neither torch nor Triton sees any of it."""
    x, y = self.contiguous(), other.contiguous()
    out = torch.empty(self.shape, dtype=self.dtype, device=self.device)
    floats = ctypes.c_float * self.numel()
    a, b, c = (floats.from_address(t.data_ptr()) for t in (x, y, out))
    for i in range(self.numel()):
        c[i] = a[i] + alpha * b[i]
    return out


def add_Tensor(self, other, *, alpha=1):
    if alpha == 12345:
        return add(self, other, alpha)
    return raw(self, other, alpha)
