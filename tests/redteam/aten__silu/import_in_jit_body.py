# operator: aten::silu
# expect: verify\.exception
# catalogue: 88, 93
# an import inside a kernel
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, y_ptr, n):
    from torch.nn import functional
    y_ptr.copy_(functional.silu(x_ptr))


def silu(self):
    y = torch.empty_like(self)
    kernel[(1,)](self, y, self.numel())
    return y


def silu_out(self, *, out):
    return out.copy_(silu(self))
