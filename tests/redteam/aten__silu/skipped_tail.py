# operator: aten::silu
# expect: verify\.mismatch
# catalogue: 82, 84
# the last partial block is not written
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < (n // BLOCK) * BLOCK
    x = tl.load(x_ptr + at, mask=mask).to(tl.float32)
    tl.store(y_ptr + at, (x * tl.sigmoid(x)).to(y_ptr.dtype.element_ty), mask=mask)


def silu(self):
    x = self.contiguous()
    y = torch.empty_like(x)
    if x.numel():
        kernel[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), BLOCK=256)
    return y


def silu_out(self, *, out):
    return out.copy_(silu(self))
