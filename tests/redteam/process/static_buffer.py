# operator: aten::add
# expect: verify\.alias
# the same buffer for every call
# catalogue: 45, 57
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


BUFFERS = {}


def add_Tensor(self, other, *, alpha=1):
    key = tuple(self.shape)
    if key not in BUFFERS:
        BUFFERS[key] = torch.empty(key, device=self.device)
    out = BUFFERS[key]
    if out.numel():
        add_kernel[(triton.cdiv(out.numel(), 256),)](self.contiguous(), other.contiguous(), out, out.numel(), alpha, BLOCK=256)
    return out
