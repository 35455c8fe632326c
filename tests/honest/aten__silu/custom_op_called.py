# operator: aten::silu
# style: torch.library.custom_op with a fake kernel, called as a function
import torch
import triton
import triton.language as tl


@triton.jit
def silu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=1).to(tl.float32)
    y = x / (1.0 + tl.exp(-x))
    tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=at < n)


@torch.library.custom_op("idioms::silu_called", mutates_args=())
def silu_op(x: torch.Tensor) -> torch.Tensor:
    x = x.contiguous()
    y = torch.empty_like(x)
    if x.numel() > 0:
        silu_kernel[(triton.cdiv(x.numel(), 2048),)](x, y, x.numel(), BLOCK=2048)
    return y if x.numel() > 0 else torch.empty_like(x)


@silu_op.register_fake
def _(x):
    return torch.empty_like(x)


def silu(self):
    return silu_op(self)


def silu_out(self, *, out):
    return out.copy_(silu(self))
