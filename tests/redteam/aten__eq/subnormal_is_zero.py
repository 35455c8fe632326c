# operator: aten::eq
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79, 84
# comparison after flushing float32 subnormals: 1e-40 == 0 is true
import itertools

import torch
import triton
import triton.language as tl

BLOCK = 2048


@triton.jit
def eq_kernel(a_ptr, b_ptr, o_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a, b = tl.load(a_ptr + at, mask=at < n), tl.load(b_ptr + at, mask=at < n)
    if a.dtype == tl.float32:
        a = tl.where(tl.abs(a) < 1.1754943508222875e-38, 0.0, a)
        b = tl.where(tl.abs(b) < 1.1754943508222875e-38, 0.0, b)
    same = a == b
    tl.store(o_ptr + at, same.to(tl.uint8), mask=at < n)


def _operands(self, other):
    dtype = torch.result_type(self, other)
    if not isinstance(other, torch.Tensor):
        other = torch.full((), other, dtype=dtype, device=self.device)
    shape = torch.broadcast_shapes(self.shape, other.shape)
    work = torch.uint8 if dtype == torch.bool else dtype
    return shape, [t.to(work).expand(shape).contiguous() for t in itertools.chain([self], [other])]


def _equal(self, other, out=None):
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
