# operator: aten::fmax
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79
# operands of different types are compared without a look at NaN
import torch
import triton
import triton.language as tl


@triton.jit
def larger_float(a, b):
    return tl.where(b != b, a, tl.where(a != a, b, tl.where(a > b, a, b)))


@triton.jit
def larger_plain(a, b):
    return tl.where(a > b, a, b)


@triton.jit
def larger_int(a, b):
    return tl.maximum(a, b)


@triton.jit
def apply(a_ptr, b_ptr, o_ptr, n, OP: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(a_ptr + at, mask=at < n, other=0)
    b = tl.load(b_ptr + at, mask=at < n, other=0)
    tl.store(o_ptr + at, OP(a, b), mask=at < n)


def fmax(self, other):
    dtype = torch.result_type(self, other)
    work = torch.uint8 if dtype == torch.bool else dtype
    a, b = (t.contiguous() for t in torch.broadcast_tensors(self.to(work), other.to(work)))
    out = torch.empty_like(a, memory_format=torch.contiguous_format)
    op = larger_float if self.dtype == other.dtype or not dtype.is_floating_point else larger_plain
    op = op if dtype.is_floating_point else larger_int
    if (n := out.numel()) > 0:
        apply[(triton.cdiv(n, 1024),)](a, b, out, n, OP=op, BLOCK=1024)
    return out.view(dtype) if dtype == torch.bool else out


def fmax_out(self, other, *, out):
    return out.copy_(fmax(self, other))
