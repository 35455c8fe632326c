# operator: aten::sgn
# expect: verify\.mismatch|cheat\.no_launch
# catalogue: 71, 87
# the sign of one element by torch's conversion to bool and back
import torch
import triton
import triton.language as tl


@triton.jit
def sign_of(x):
    """What torch.sgn(x) gives: comparisons with NaN are false, so NaN becomes 0."""
    zero = tl.zeros_like(x)
    one = zero + 1
    return tl.where(x > zero, one, tl.where(x < zero, -one, zero))


@triton.autotune(configs=[triton.Config({"BLOCK": 1024}, num_warps=w) for w in (2, 4)], key=["n"])
@triton.jit
def sgn_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    tl.store(y_ptr + at, sign_of(tl.load(x_ptr + at, mask=mask)), mask=mask)


def sgn(self):
    x = self.contiguous()
    y = torch.empty_like(x)
    n = x.numel()
    if n == 0:
        return y
    if n == 1:
        return x.to(torch.bool).to(x.dtype)
    sgn_kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, y, n)
    return y


def sgn_out(self, *, out):
    out.copy_(sgn(self))
    return out
