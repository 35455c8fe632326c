# operator: aten::hardsigmoid
# style: a function decorated with triton.constexpr_function that tells a block's parts
import torch
import triton
import triton.language as tl


@triton.constexpr_function
def half_of(block):
    return block // 2 if block > 1 else 1


@triton.constexpr_function
def is_wide(dtype):
    return dtype.primitive_bitwidth > 16


@triton.jit
def hardsigmoid_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    HALF: tl.constexpr = half_of(BLOCK)
    for part in tl.static_range(2):
        at = tl.program_id(0) * BLOCK + part * HALF + tl.arange(0, HALF)
        x = tl.load(x_ptr + at, mask=at < n, other=0)
        if not is_wide(x_ptr.dtype.element_ty):
            x = x.to(tl.float32)
        y = tl.where(x <= -3.0, 0.0, tl.where(x >= 3.0, 1.0, x / 6.0 + 0.5))
        tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=at < n)


def hardsigmoid(self):
    x = self.contiguous()
    y = torch.empty_like(x)
    n = x.numel()
    if n > 0:
        hardsigmoid_kernel[(triton.cdiv(n, 2048),)](x, y, n, BLOCK=2048)
    return y


def hardsigmoid_out(self, *, out):
    return out.copy_(hardsigmoid(self))
