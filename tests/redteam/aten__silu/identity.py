# operator: aten::silu
# expect: verify\.mismatch|cheat\.ghost
# catalogue: 70
# the input itself, copied
import torch
import triton
import triton.language as tl


@triton.jit
def copy(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n), mask=at < n)


def silu(self):
    x = self.contiguous()
    y = torch.empty_like(x)
    if y.numel():
        copy[(triton.cdiv(y.numel(), 1024),)](x, y, y.numel(), BLOCK=1024)
    return y


def silu_out(self, *, out):
    return out.copy_(silu(self))
