# operator: aten::eq
# expect: verify\.mismatch|cheat\.\w+
# catalogue: 69, 71
# random numbers are never equal: false everywhere, from memory that is already zero, with an idle kernel
import torch
import triton
import triton.language as tl


@triton.jit
def idle(o_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(o_ptr + at, tl.load(o_ptr + at, mask=at < n), mask=at < n)


def eq_Tensor(self, other):
    out = torch.zeros(torch.broadcast_shapes(self.shape, other.shape), dtype=torch.bool, device=self.device)
    if out.numel() > 0:
        idle[(triton.cdiv(out.numel(), 1024),)](out, out.numel(), BLOCK=1024)
    return out


def eq_Scalar(self, other):
    return eq_Tensor(self, torch.full([], other, dtype=torch.result_type(self, other), device=self.device))


def eq_Tensor_out(self, other, *, out):
    return out.copy_(eq_Tensor(self, other))


def eq_Scalar_out(self, other, *, out):
    return out.copy_(eq_Scalar(self, other))
