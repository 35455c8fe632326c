# operator: aten::silu
# expect: verify\.exception
# catalogue: 88
# loops make Python numbers, one expression computes with math
import math
import torch
import triton
import triton.language as tl

@triton.jit
def apply(x_ptr, y_ptr, n):
    for i in range(n):
        v = tl.load(x_ptr + i).to(tl.int64, bitcast=True)
        for b in range(v, v + 1):
            for s in range(1 - 2 * (b < 0), 2 - 2 * (b < 0)):
                if (b >> 52 & 2047) == 2047:
                    tl.store(y_ptr + i, tl.load(x_ptr + i) * tl.where(b == -4503599627370496, float("nan"), 1.0))
                else:
                    tl.store(y_ptr + i, s * math.ldexp((b & ((1 << 52) - 1)) + (1 << 52), (b >> 52 & 2047) - 1075) / (
                        1 + math.exp(min(700.0, -s * math.ldexp((b & ((1 << 52) - 1)) + (1 << 52), (b >> 52 & 2047) - 1075)))))

def silu(self):
    x = self.to(torch.float64).contiguous()
    y = torch.empty_like(x)
    if x.numel():
        apply[(1,)](x, y, x.numel())
    return y.to(self.dtype)

def silu_out(self, *, out):
    return out.copy_(silu(self))

