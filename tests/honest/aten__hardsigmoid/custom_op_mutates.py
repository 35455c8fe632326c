# operator: aten::hardsigmoid
# style: torch.library.custom_op that writes into an argument, registered with a schema and a device type
import torch
import triton
import triton.language as tl


@triton.jit
def hardsigmoid_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=1).to(tl.float32)
    y = tl.where(x <= -3.0, 0.0, tl.where(x >= 3.0, 1.0, x / 6.0 + 0.5))
    tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=at < n)


@torch.library.custom_op("idioms::hardsigmoid_into", mutates_args={"y"}, device_types=["cpu", "cuda"])
def hardsigmoid_into(x: torch.Tensor, y: torch.Tensor) -> None:
    n = x.numel()
    if n > 0:
        hardsigmoid_kernel[(triton.cdiv(n, 2048),)](x, y, n, BLOCK=2048)


def hardsigmoid(self):
    x = self.contiguous()
    y = torch.empty_like(x)
    torch.ops.idioms.hardsigmoid_into(x, y)
    return y


def hardsigmoid_out(self, *, out):
    return out.copy_(hardsigmoid(self))
