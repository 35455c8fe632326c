# operator: aten::eq
# expect: verify\.mismatch
# catalogue: 84
# a pair of NaN counts as equal
import torch
import triton
import triton.language as tl


@triton.jit
def eq_kernel(a_ptr, b_ptr, o_ptr, n, FLOAT: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(a_ptr + at, mask=at < n)
    b = tl.load(b_ptr + at, mask=at < n)
    same = a == b
    if FLOAT:
        same = same | ((a != a) & (b != b))
    tl.store(o_ptr + at, same, mask=at < n)


def eq_Tensor(self, other):
    dtype = torch.result_type(self, other)
    shape = torch.broadcast_shapes(self.shape, other.shape)
    a, b = self.to(dtype).expand(shape).contiguous(), other.to(dtype).expand(shape).contiguous()
    out = torch.empty(shape, dtype=torch.bool, device=self.device)
    if out.numel() > 0:
        eq_kernel[(triton.cdiv(out.numel(), 1024),)](a, b, out, out.numel(), FLOAT=dtype.is_floating_point, BLOCK=1024)
    return out


def eq_Scalar(self, other):
    return eq_Tensor(self, torch.full([], other, dtype=torch.result_type(self, other), device=self.device))


def eq_Tensor_out(self, other, *, out):
    return out.copy_(eq_Tensor(self, other))


def eq_Scalar_out(self, other, *, out):
    return out.copy_(eq_Scalar(self, other))
