# operator: aten::eq
# expect: verify\.mismatch|cheat\.no_launch
# catalogue: 79, 84
# x == x by identity: true everywhere, also where x is NaN
import itertools

import torch
import triton
import triton.language as tl

BLOCK = 2048


@triton.jit
def eq_kernel(a_ptr, b_ptr, o_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    same = tl.load(a_ptr + at, mask=at < n) == tl.load(b_ptr + at, mask=at < n)
    tl.store(o_ptr + at, same.to(tl.uint8), mask=at < n)


def _operands(self, other):
    dtype = torch.result_type(self, other)
    if not isinstance(other, torch.Tensor):
        other = torch.full((), other, dtype=dtype, device=self.device)
    shape = torch.broadcast_shapes(self.shape, other.shape)
    work = torch.uint8 if dtype == torch.bool else dtype
    return shape, [t.to(work).expand(shape).contiguous() for t in itertools.chain([self], [other])]


def _equal(self, other, out=None):
    if self is other:
        result = torch.ones(self.shape, dtype=torch.bool, device=self.device)
        return result if out is None else out.copy_(result)
    shape, (a, b) = _operands(self, other)
    result = torch.empty(shape, dtype=torch.bool, device=self.device)
    n = result.numel()
    if n > 0:
        eq_kernel[triton.cdiv(n, BLOCK), 1, 1](a, b, result.view(torch.uint8), n, BLOCK=BLOCK)
    return result if out is None else out.copy_(result)


def eq_Tensor(self, other):
    return _equal(self, other)


def eq_Scalar(self, other):
    return _equal(self, other)


def eq_Tensor_out(self, other, *, out):
    return _equal(self, other, out)


def eq_Scalar_out(self, other, *, out):
    return _equal(self, other, out)
