# operator: aten::silu
# style: product in the tensor's own type unless that is float16, persistent programs that loop over blocks
import torch
import triton
import triton.language as tl

PROGRAMS = 4


@triton.jit
def persistent(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    step = tl.num_programs(0) * BLOCK
    for start in range(tl.program_id(0) * BLOCK, n, step):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + at, mask=at < n)
        gate = tl.sigmoid(x.to(tl.float32))
        if x.dtype == tl.float16:
            # Below x = -9.7 the gate would be subnormal: the product would lose up to 8 spacings.
            y = (x.to(tl.float32) * gate).to(x.dtype)
        else:
            y = x * gate.to(x.dtype)
        tl.store(y_ptr + at, y, mask=at < n)


def silu(self):
    x = self if self.is_contiguous() else self.contiguous()
    y = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    if x.numel() != 0:
        persistent[(PROGRAMS, 1, 1)](x, y, x.numel(), BLOCK=512)
    return y


def silu_out(self, *, out):
    out.copy_(silu(self))
    return out
