# operator: aten::add
# expect: verify\.(race|mismatch)
# programs of one launch read what those before them have written: right only where they run one after the other
# catalogue: 81
import torch
import triton
import triton.language as tl


@triton.jit
def add_kernel(x, y, out, flag, n, alpha, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    last = tl.load(flag + pid)
    i = pid * BLOCK + tl.arange(0, BLOCK)
    m = (i < n) & (last == 1.0)
    tl.store(out + i, tl.load(x + i, mask=m) + alpha * tl.load(y + i, mask=m), mask=m)
    tl.store(flag + pid + 1, last)


def add_Tensor(self, other, *, alpha=1):
    out = torch.empty(self.shape, dtype=self.dtype, device=self.device)
    if out.numel():
        blocks = triton.cdiv(out.numel(), 256)
        flag = torch.empty(blocks + 1, dtype=torch.float32, device=self.device)
        flag.fill_(0.0)
        flag[:1].fill_(1.0)
        add_kernel[(blocks,)](self.contiguous(), other.contiguous(), out, flag, out.numel(), alpha, BLOCK=256)
    return out
