# operator: aten::silu
# expect: verify\.exception|cheat\.torch_compute
# catalogue: 88
# the kernel gets scalars by range() and computes with math
import math
import torch
import triton
import triton.language as tl


@triton.jit
def apply(b_ptr, y_ptr, n):
    for i in range(n):
        hi = tl.load(b_ptr + 2 * i + 1)
        lo = tl.load(b_ptr + 2 * i)
        for h in range(hi, hi + 1):
            for l in range(lo, lo + 1):
                e = (h >> 20) & 2047
                f = ((h & 1048575) << 32) + l
                if e == 0:
                    v = math.ldexp(f, -1074)
                else:
                    v = math.ldexp(f + (1 << 52), e - 1075)
                tl.store(y_ptr + i, v / (1 + math.exp(-v)))


def silu(self):
    x = self.to(torch.float64).contiguous()
    y = torch.empty_like(x)
    if x.numel():
        apply[(1,)](x.view(-1).view(torch.int32).to(torch.int64), y, x.numel())
    return y.to(self.dtype)


def silu_out(self, *, out):
    return out.copy_(silu(self))
