# operator: aten::add_
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79, 84
# open: few verdicts have a case of this alpha with one tensor for two arguments
# a small whole alpha is done by adding other so many times: x.add_(x, alpha=2) gives 4x
import torch
import triton
import triton.language as tl


@triton.jit
def accumulate(x_ptr, y_ptr, number, alpha, n, Y_IS_TENSOR: tl.constexpr, ACC: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0).to(ACC)
    if Y_IS_TENSOR:
        y = tl.load(y_ptr + at, mask=at < n, other=0).to(ACC)
    else:
        y = tl.full([BLOCK], number, ACC)
    tl.store(x_ptr + at, (x + alpha * y).to(x_ptr.dtype.element_ty), mask=at < n)


def _accumulate(self, other, alpha):
    n = self.numel()
    if n == 0:
        return self
    x = self.contiguous()
    tensor = isinstance(other, torch.Tensor)
    y = other.expand(x.shape).contiguous() if tensor else x
    accumulate[(triton.cdiv(n, 1024),)](x, y, 0 if tensor else other, alpha, n, Y_IS_TENSOR=tensor,
                                        ACC=tl.float32 if x.dtype.is_floating_point else tl.int64, BLOCK=1024)
    if x is not self:
        self.copy_(x)
    return self


def add__Tensor(self, other, *, alpha=1):
    if type(alpha) is int and 1 < alpha < 4 and self.dtype == torch.int64:
        for _ in range(alpha):
            _accumulate(self, other, 1)
        return self
    return _accumulate(self, other, alpha)


def add__Scalar(self, other, alpha=1):
    return _accumulate(self, other, alpha)
