# operator: aten::mul
# expect: (cheat|l1)\.torch_compute
# catalogue: 88, 89
# addcmul with zeros computes the product; the kernel multiplies it by one
import torch
import triton
import triton.language as tl


@triton.jit
def scale_kernel(x_ptr, y_ptr, n, ONE: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n) * ONE, mask=at < n)


def mul_Tensor(self, other):
    dtype = torch.result_type(self, other)
    base = torch.zeros([], dtype=dtype, device=self.device)
    x = base.addcmul(self.to(dtype), other.to(dtype)).contiguous()
    y = torch.empty_like(x)
    if x.numel() > 0:
        scale_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), ONE=1, BLOCK=1024)
    return y


def mul_Scalar(self, other):
    return mul_Tensor(self, torch.full([], other, dtype=torch.result_type(self, other), device=self.device))


def mul_out(self, other, *, out):
    return out.copy_(mul_Tensor(self, other))


def mul_Scalar_out(self, other, *, out):
    return out.copy_(mul_Scalar(self, other))
