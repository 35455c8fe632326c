# operator: aten::add_
# expect: verify\.mismatch
# catalogue: 80, 81
# blocks overlap by one element, which is added twice
import torch
import triton
import triton.language as tl


@triton.jit
def add_kernel(x_ptr, y_ptr, alpha, n, WIDE: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * (BLOCK - 1) + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n).to(WIDE)
    y = tl.load(y_ptr + at, mask=at < n).to(WIDE)
    tl.store(x_ptr + at, (x + alpha * y).to(x_ptr.dtype.element_ty), mask=at < n)


def add__Tensor(self, other, *, alpha=1):
    x, y = self.contiguous(), other.expand(self.shape).contiguous()
    if self.numel() > 0:
        add_kernel[(triton.cdiv(self.numel(), 1023),)](x, y, alpha, self.numel(),
                                                       WIDE=tl.float32 if self.dtype.is_floating_point else tl.int64,
                                                       BLOCK=1024)
    return self if x is self else self.copy_(x)


def add__Scalar(self, other, alpha=1):
    return add__Tensor(self, torch.full([], other, dtype=self.dtype, device=self.device), alpha=alpha)
