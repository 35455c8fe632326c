# operator: aten::rsqrt
# style: torch.library.custom_op, called by torch.ops; zeros and copies inside
import torch
import triton
import triton.language as tl


@triton.jit
def rsqrt_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=1).to(tl.float32)
    y = tl.rsqrt(x)
    tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=at < n)


@torch.library.custom_op("idioms::rsqrt_named", mutates_args=())
def rsqrt_op(x: torch.Tensor) -> torch.Tensor:
    x = x.contiguous()
    y = torch.zeros(x.shape, dtype=x.dtype if x.is_floating_point() else torch.float32, device=x.device)
    if x.numel() > 0:
        rsqrt_kernel[(triton.cdiv(x.numel(), 2048),)](x, y, x.numel(), BLOCK=2048)
    return y


def rsqrt(self):
    return torch.ops.idioms.rsqrt_named(self)


def rsqrt_out(self, *, out):
    return out.copy_(rsqrt(self))
