# operator: aten::sgn
# style: shapes changed inside the kernel: reshape, permute, split, join, ravel
import torch
import triton
import triton.language as tl


@triton.jit
def sign(x):
    return tl.where(x > 0, 1.0, 0.0) - tl.where(x < 0, 1.0, 0.0)


@triton.jit
def sgn_pairs(x_ptr, y_ptr, n, HALF: tl.constexpr):
    at = tl.program_id(0) * 2 * HALF + tl.arange(0, 2 * HALF)
    x = tl.load(x_ptr + at, mask=at < n, other=0).to(tl.float32)
    even, odd = tl.split(tl.reshape(x, [HALF, 2]))
    both = tl.join(sign(even), sign(odd))
    y = tl.ravel(tl.permute(tl.permute(both, (1, 0)), (1, 0)))
    tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=at < n)


def sgn(self):
    x = self.contiguous()
    y = torch.empty_like(x)
    if (n := x.numel()) > 0:
        sgn_pairs[(triton.cdiv(n, 1024),)](x, y, n, HALF=512)
    return y


def sgn_out(self, *, out):
    return out.copy_(sgn(self))
