# operator: aten::silu
# style: block pointers with boundary checks, tl.advance in a loop, language imported from triton
# triton: below 3.9
import torch
import triton
from triton import language as tl


@triton.jit
def silu_blocks(x_ptr, y_ptr, n, PER_PROGRAM: tl.constexpr, BLOCK: tl.constexpr):
    first = tl.program_id(0) * PER_PROGRAM * BLOCK
    x_block = tl.make_block_ptr(x_ptr, shape=(n,), strides=(1,), offsets=(first,), block_shape=(BLOCK,), order=(0,))
    y_block = tl.make_block_ptr(y_ptr, shape=(n,), strides=(1,), offsets=(first,), block_shape=(BLOCK,), order=(0,))
    for _ in range(PER_PROGRAM):
        x = tl.load(x_block, boundary_check=(0,), padding_option="zero").to(tl.float32)
        y = x / (1.0 + tl.exp(-x))
        tl.store(y_block, y.to(y_ptr.dtype.element_ty), boundary_check=(0,))
        x_block = tl.advance(x_block, (BLOCK,))
        y_block = tl.advance(y_block, (BLOCK,))


def silu(self):
    x = self.contiguous()
    y = torch.empty_like(x)
    n = x.numel()
    if n == 0:
        return y
    silu_blocks[(triton.cdiv(n, 1024),)](x, y, n, PER_PROGRAM=2, BLOCK=512)
    return y


def silu_out(self, *, out):
    return out.copy_(silu(self))
