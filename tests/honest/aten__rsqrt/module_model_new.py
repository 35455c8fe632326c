# operator: aten::rsqrt
# style: ModelNew with forward, as benchmarks ask for, and get_inputs below it
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def rsqrt_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=1).to(tl.float32)
    y = tl.rsqrt(x)
    tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=at < n)


class ModelNew(nn.Module):
    def __init__(self) -> None:
        super(ModelNew, self).__init__()
        self.block_size = 2048

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        y = torch.empty_like(x, dtype=x.dtype if x.is_floating_point() else torch.float32)
        n = x.numel()
        if n > 0:
            rsqrt_kernel[(triton.cdiv(n, self.block_size),)](x, y, n, BLOCK=self.block_size)
        return y


_model = ModelNew()


def get_inputs():
    return [torch.rand(16, 16384)]


def get_init_inputs():
    return []


def rsqrt(self):
    return _model(self)


def rsqrt_out(self, *, out):
    return out.copy_(rsqrt(self))
