# operator: aten::bitwise_not
# style: a dispatch table from type to kernel and view, lambdas as values
import torch
import triton
import triton.language as tl


@triton.jit
def invert(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, ~tl.load(x_ptr + at, mask=at < n, other=0), mask=at < n)


@triton.jit
def invert_bool(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, 1 - tl.load(x_ptr + at, mask=at < n, other=0), mask=at < n)


DISPATCH = {
    torch.bool: (invert_bool, lambda t: t.view(torch.uint8)),
    "default": (invert, lambda t: t),
}


def bitwise_not(self):
    x = self.contiguous()
    y = torch.empty_like(x)
    kernel, as_bits = DISPATCH.get(x.dtype, DISPATCH["default"])
    if (n := x.numel()) > 0:
        kernel[(triton.cdiv(n, 1024),)](as_bits(x), as_bits(y), n, BLOCK=1024)
    return y


def bitwise_not_out(self, *, out):
    return out.copy_(bitwise_not(self))
