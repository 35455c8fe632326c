# operator: aten::silu
# expect: verify\.mismatch
# catalogue: 69
# nothing but zeros
import torch
import triton
import triton.language as tl


@triton.jit
def clear(y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.zeros([BLOCK], tl.float32).to(y_ptr.dtype.element_ty), mask=at < n)


def silu(self):
    y = torch.empty(self.shape, dtype=self.dtype, device=self.device)
    if y.numel():
        clear[(triton.cdiv(y.numel(), 1024),)](y, y.numel(), BLOCK=1024)
    return y


def silu_out(self, *, out):
    return out.copy_(silu(self))
