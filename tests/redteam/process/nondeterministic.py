# operator: aten::add
# expect: passed
# other bits every time, within tolerance: recorded, not rejected
import torch
import triton
import triton.language as tl


@triton.jit
def add_kernel(x, y, out, n, alpha, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    part = tl.program_id(1)
    term = tl.load(x + i, mask=m) if part == 0 else alpha * tl.load(y + i, mask=m) * (0.3 if part == 1 else 0.7)
    tl.atomic_add(out + i, term, mask=m)


def add_Tensor(self, other, *, alpha=1):
    out = torch.zeros(self.shape, dtype=self.dtype, device=self.device)
    if out.numel():
        add_kernel[(triton.cdiv(out.numel(), 256), 3)](self.contiguous(), other.contiguous(), out, out.numel(), alpha, BLOCK=256)
    return out
