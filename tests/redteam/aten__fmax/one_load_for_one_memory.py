# operator: aten::fmax
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 57
# operands of one storage, shape and strides are loaded once: windows that are shifted against each other (pooling of
# neighbours); wrong: x = torch.arange(9.0); fmax(x[:-1], x[1:]) gives x[:-1]
import torch
import triton
import triton.language as tl


@triton.jit
def pick(a, b, FLOAT: tl.constexpr = True):
    larger = tl.where(a > b, a, b)
    if FLOAT:
        larger = tl.where(b != b, a, tl.where(a != a, b, larger))
    return larger


@triton.jit
def fmax_kernel(a_ptr, b_ptr, o_ptr, n, FLOAT: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(a_ptr + at, mask=at < n, other=0)
    b = tl.load(b_ptr + at, mask=at < n, other=0)
    tl.store(o_ptr + at, pick(a, b, FLOAT), mask=at < n)


def fmax(self, other):
    dtype = torch.result_type(self, other)
    work = torch.uint8 if dtype == torch.bool else dtype
    if self.stride() == other.stride() and self.untyped_storage().data_ptr() == other.untyped_storage().data_ptr():
        other = self
    a, b = (t.contiguous() for t in torch.broadcast_tensors(self.to(work), other.to(work)))
    out = torch.empty_like(a, memory_format=torch.contiguous_format)
    if (n := out.numel()) > 0:
        fmax_kernel[(triton.cdiv(n, 1024), 1, 1)](a, b, out, n, FLOAT=dtype.is_floating_point, BLOCK=1024)
    return out.view(dtype) if dtype == torch.bool else out


def fmax_out(self, other, *, out):
    return out.copy_(fmax(self, other))
