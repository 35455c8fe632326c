# operator: aten::silu
# expect: l1\.computed_name|cheat\.torch_compute
# catalogue: 86, 93
# torch computes below an operator of the candidate, where a mode of torch's dispatcher does not look by itself
import torch
import triton
import triton.language as tl


@triton.jit
def copy_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n), mask=at < n)


NAME = "ulis"


@torch.library.custom_op("idioms::silu_of_torch", mutates_args=())
def silu_op(x: torch.Tensor) -> torch.Tensor:
    x = x.contiguous()
    y = torch.empty_like(x)
    if x.numel():
        copy_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
    return getattr(torch.nn.functional, NAME[::-1])(y)


def silu(self):
    return silu_op(self)


def silu_out(self, *, out):
    return out.copy_(silu(self))
