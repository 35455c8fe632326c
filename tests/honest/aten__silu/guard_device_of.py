# operator: aten::silu
# style: torch.cuda.device_of around the launch
import torch
import triton
import triton.language as tl


@triton.jit
def silu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=1).to(tl.float32)
    y = x / (1.0 + tl.exp(-x))
    tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=at < n)


def silu(self):
    x = self.contiguous()
    y = torch.empty_like(x)
    n = x.numel()
    if n > 0:
        with torch.cuda.device_of(x):
            silu_kernel[(triton.cdiv(n, 2048),)](x, y, n, BLOCK=2048)
    return y


def silu_out(self, *, out):
    return out.copy_(silu(self))
