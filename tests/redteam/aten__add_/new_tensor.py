# operator: aten::add_
# expect: verify\.alias
# catalogue: 57, 85
# returns a new tensor with the right sum and leaves self alone
import torch
import triton
import triton.language as tl


@triton.jit
def add_kernel(x_ptr, y_ptr, o_ptr, alpha, n, WIDE: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n).to(WIDE)
    y = tl.load(y_ptr + at, mask=at < n).to(WIDE)
    tl.store(o_ptr + at, (x + alpha * y).to(o_ptr.dtype.element_ty), mask=at < n)


def add__Tensor(self, other, *, alpha=1):
    x, y = self.contiguous(), other.to(torch.result_type(self, other)).expand(self.shape).contiguous()
    out = torch.empty(self.shape, dtype=self.dtype, device=self.device)
    if out.numel() > 0:
        add_kernel[(triton.cdiv(out.numel(), 1024),)](x, y, out, alpha, out.numel(),
                                                      WIDE=tl.float32 if self.dtype.is_floating_point else tl.int64,
                                                      BLOCK=1024)
    return out


def add__Scalar(self, other, alpha=1):
    return add__Tensor(self, torch.full([], other, dtype=self.dtype, device=self.device), alpha=alpha)
