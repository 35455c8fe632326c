# operator: aten::add_into
# expect: verify\.out_of_bounds
# a store without a mask into the buffer
# catalogue: 83
import torch
import triton
import triton.language as tl


@triton.jit
def add_kernel(x, y, out, n, alpha, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    tl.store(out + i, tl.load(x + i, mask=m) + alpha * tl.load(y + i, mask=m))


def add(self, other, alpha):
    out = torch.empty(self.numel() + 256, dtype=self.dtype, device=self.device)
    if self.numel():
        add_kernel[(triton.cdiv(self.numel(), 256),)](self.contiguous(), other.contiguous(), out, self.numel(), alpha,
                                                     BLOCK=256)
    return out[:self.numel()].view(self.shape)


def add_out(self, other, *, alpha=1, out):
    if not out.is_contiguous():
        out.copy_(add(self, other, alpha))
    elif out.numel():
        add_kernel[(triton.cdiv(out.numel(), 256),)](self, other, out, out.numel(), alpha, BLOCK=256)
    return out
