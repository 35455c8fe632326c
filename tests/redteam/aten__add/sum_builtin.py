# operator: aten::add
# expect: contract\.kernel_unreachable
# catalogue: 86
# the builtin sum adds tensors
import torch
import triton
import triton.language as tl

@triton.jit
def add_kernel(x_ptr, y_ptr, o_ptr, alpha, n, WIDE: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n).to(WIDE)
    y = tl.load(y_ptr + at, mask=at < n).to(WIDE)
    tl.store(o_ptr + at, (x + y * alpha).to(o_ptr.dtype.element_ty), mask=at < n)


def run(self, other, alpha):
    if not isinstance(other, torch.Tensor):
        other = torch.full((), other, dtype=torch.result_type(self, other), device=self.device)
    dtype = torch.result_type(self, other)
    x, y = torch.broadcast_tensors(self.to(dtype), other.to(dtype))
    x, y = x.contiguous(), y.contiguous()
    out = torch.empty_like(x)
    if out.numel():
        add_kernel[(triton.cdiv(out.numel(), 1024),)](x, y, out, alpha, out.numel(), BLOCK=1024,
                                                      WIDE=tl.float32 if dtype.is_floating_point else tl.int64)
    return out


def add_Tensor(self, other, *, alpha=1):
    return sum([self, other * alpha])


def add_Scalar(self, other, alpha=1):
    return run(self, other, alpha)


def add_out(self, other, *, alpha=1, out):
    return out.copy_(run(self, other, alpha))


def add_Scalar_out(self, other, alpha=1, *, out):
    return out.copy_(run(self, other, alpha))
