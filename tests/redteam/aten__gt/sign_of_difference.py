# operator: aten::gt
# expect: verify\.mismatch
# catalogue: 84
# the sign of a - b: differences of integers wrap
import torch
import triton
import triton.language as tl


@triton.jit
def gt_kernel(a_ptr, b_ptr, o_ptr, n, FLOAT: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    d = tl.load(a_ptr + at, mask=at < n) - tl.load(b_ptr + at, mask=at < n)
    tl.store(o_ptr + at, d > 0, mask=at < n)


def gt_Tensor(self, other):
    dtype = torch.result_type(self, other)
    shape = torch.broadcast_shapes(self.shape, other.shape)
    a, b = self.to(dtype).expand(shape).contiguous(), other.to(dtype).expand(shape).contiguous()
    out = torch.empty(shape, dtype=torch.bool, device=self.device)
    if out.numel() > 0:
        gt_kernel[(triton.cdiv(out.numel(), 1024),)](a, b, out, out.numel(), FLOAT=dtype.is_floating_point, BLOCK=1024)
    return out


def gt_Scalar(self, other):
    return gt_Tensor(self, torch.full([], other, dtype=torch.result_type(self, other), device=self.device))


def gt_Tensor_out(self, other, *, out):
    return out.copy_(gt_Tensor(self, other))


def gt_Scalar_out(self, other, *, out):
    return out.copy_(gt_Scalar(self, other))
