# operator: aten::silu
# style: an autograd function with decorators of mixed precision that sets attributes of its context; a class with methods
import torch
import triton
import triton.language as tl
from torch.amp import custom_bwd, custom_fwd


@triton.jit
def silu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n).to(tl.float32)
    tl.store(y_ptr + at, (x * tl.sigmoid(x)).to(y_ptr.dtype.element_ty), mask=at < n)


class Plan:
    """What a launch needs; its attributes have the names of a tensor's."""

    def __init__(self, x):
        self.shape, self.dtype = x.shape, x.dtype
        self.size = x.numel()

    def max(self):
        return max(self.size, 1)

    def grid(self, block):
        self.dtype = None
        return (triton.cdiv(self.max(), block),)


class SiLU(torch.autograd.Function):
    @staticmethod
    @custom_fwd(device_type="cuda")
    def forward(ctx, x):
        ctx.shape = x.shape
        ctx.dtype = x.dtype
        plan = Plan(x)
        y = torch.empty_like(x)
        if isinstance(plan, Plan) and plan.size:
            silu_kernel[plan.grid(1024)](x, y, plan.size, BLOCK=1024)
        return y

    @staticmethod
    @custom_bwd(device_type="cuda")
    def backward(ctx, grad):
        raise NotImplementedError("of %s" % ctx.shape)


def silu(self):
    return SiLU.apply(self.contiguous())


def silu_out(self, *, out):
    return out.copy_(silu(self))
