# operator: aten::silu
# expect: verify\.race
# catalogue: 81
# each program goes on where the one before it has stopped
import torch
import triton
import triton.language as tl


@triton.jit
def silu_kernel(x_ptr, y_ptr, flag_ptr, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    start = tl.load(flag_ptr)
    at = start + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n).to(tl.float32)
    tl.store(y_ptr + at, (x * tl.sigmoid(x)).to(y_ptr.dtype.element_ty), mask=at < n)
    tl.store(flag_ptr, start + BLOCK)


def silu(self):
    x = self.contiguous()
    y = torch.empty_like(x)
    if x.numel():
        flag = torch.zeros(1, dtype=torch.int32, device=self.device)
        silu_kernel[(triton.cdiv(x.numel(), 256),)](x, y, flag, x.numel(), BLOCK=256)
    return y


def silu_out(self, *, out):
    return out.copy_(silu(self))
