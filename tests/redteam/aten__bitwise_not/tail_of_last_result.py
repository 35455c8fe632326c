# operator: aten::bitwise_not
# expect: verify\.(mismatch|out_of_bounds|unstable)
# catalogue: 52, 82
# writes whole blocks only; the tail keeps what was in memory, which is often the last result
import torch
import triton
import triton.language as tl


@triton.jit
def not_kernel(x_ptr, y_ptr, IS_BOOL: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    tl.store(y_ptr + at, x == 0 if IS_BOOL else ~x)


def bitwise_not(self):
    x = self.contiguous()
    y = torch.empty_like(x)
    block = 64 if x.numel() >= 64 else 1
    if x.numel() > 0:
        not_kernel[(x.numel() // block,)](x, y, IS_BOOL=x.dtype == torch.bool, BLOCK=block)
    return y


def bitwise_not_out(self, *, out):
    return out.copy_(bitwise_not(self))
