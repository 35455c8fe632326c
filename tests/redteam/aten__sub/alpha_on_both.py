# operator: aten::sub
# expect: verify\.mismatch
# catalogue: 79, 84
# alpha * (self - other), which is right for the default alpha
import torch
import triton
import triton.language as tl


@triton.jit
def sub_kernel(a_ptr, b_ptr, o_ptr, alpha, n, WIDE: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(a_ptr + at, mask=at < n).to(WIDE)
    b = tl.load(b_ptr + at, mask=at < n).to(WIDE)
    tl.store(o_ptr + at, (alpha * (a - b)).to(o_ptr.dtype.element_ty), mask=at < n)


def sub_out(self, other, *, alpha=1, out):
    result = sub_Tensor(self, other, alpha=alpha)
    return out.copy_(result)


def sub_Tensor(self, other, *, alpha=1):
    shape = torch.broadcast_shapes(self.shape, other.shape)
    dtype = torch.result_type(self, other)
    a, b = self.expand(shape).contiguous(), other.expand(shape).contiguous()
    out = torch.empty(shape, dtype=dtype, device=self.device)
    if out.numel() > 0:
        sub_kernel[(triton.cdiv(out.numel(), 1024),)](a, b, out, alpha, out.numel(),
                                                      WIDE=tl.float32 if dtype.is_floating_point else tl.int64, BLOCK=1024)
    return out


def sub_Scalar(self, other, alpha=1):
    return sub_Tensor(self, torch.full([], other, dtype=torch.result_type(self, other), device=self.device), alpha=alpha)


def sub_Scalar_out(self, other, alpha=1, *, out):
    return out.copy_(sub_Scalar(self, other, alpha))
