# operator: aten::bitwise_not
# expect: verify\.mismatch
# catalogue: 84, 85
# inverts all eight bits of a bool: 254 and 255 in memory are both true
import torch
import triton
import triton.language as tl


@triton.jit
def not_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, ~tl.load(x_ptr + at, mask=at < n), mask=at < n)


def bitwise_not(self):
    x = self.contiguous()
    y = torch.empty_like(x)
    if x.numel() > 0:
        is_bool = x.dtype == torch.bool
        source, target = (x.view(torch.uint8), y.view(torch.uint8)) if is_bool else (x, y)
        not_kernel[(triton.cdiv(x.numel(), 1024),)](source, target, x.numel(), BLOCK=1024)
    return y


def bitwise_not_out(self, *, out):
    return out.copy_(bitwise_not(self))
