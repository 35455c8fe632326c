# operator: aten::silu
# expect: verify\.exception
# catalogue: 88
# NumPy behind the interpreter's handle
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    raw = x.handle.data
    x.handle.data = raw / (1 + 2.718281828459045 ** -raw)
    tl.store(y_ptr + at, x, mask=at < n)


def silu(self):
    y = torch.empty_like(self)
    kernel[(triton.cdiv(self.numel(), 1024),)](self, y, self.numel(), BLOCK=1024)
    return y


def silu_out(self, *, out):
    return out.copy_(silu(self))
