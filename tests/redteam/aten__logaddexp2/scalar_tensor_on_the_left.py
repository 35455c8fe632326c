# operator: aten::logaddexp2
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79
# class: a tensor without dimensions in the first place, of a wider type than the other (templates broadcast the second one only)
# a 0-dimensional other does not widen the type of the result, a 0-dimensional self does; wrong:
# logaddexp2(torch.tensor(0.5), torch.ones(4, dtype=torch.float16)) is float32; torch gives float16, as for swapped arguments
import torch
import triton
import triton.language as tl


@triton.jit
def log2_of_1_plus(t):
    u = 1.0 + t
    return tl.where(u == 1.0, t * 1.4426950408889634, tl.log2(u) * (t / tl.where(u == 1.0, 1.0, u - 1.0)))


@triton.jit
def logaddexp2_kernel(a_ptr, b_ptr, o_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(a_ptr + at, mask=at < n, other=0.0).to(tl.float32)
    b = tl.load(b_ptr + at, mask=at < n, other=0.0).to(tl.float32)
    high = tl.where(a > b, a, b)
    y = high + log2_of_1_plus(tl.exp2(-tl.abs(a - b)))
    y = tl.where((a == b) & (tl.abs(a) == float("inf")), a, y)
    tl.store(o_ptr + at, y.to(o_ptr.dtype.element_ty), mask=at < n)


def result_type(self, other):
    # A tensor without dimensions does not widen the type of the other one.
    if other.dim() == 0:
        return self.dtype if self.dim() > 0 else torch.promote_types(self.dtype, other.dtype)
    return torch.promote_types(self.dtype, other.dtype)


def logaddexp2(self, other):
    shape = torch.broadcast_shapes(self.shape, other.shape)
    out = torch.empty(shape, dtype=result_type(self, other), device=self.device)
    n = out.numel()
    if n > 0:
        a, b = (x.expand(shape).contiguous() for x in (self, other))
        logaddexp2_kernel[(triton.cdiv(n, 4096),)](a, b, out, n, BLOCK=4096)
    return out


def logaddexp2_out(self, other, *, out):
    return out.copy_(logaddexp2(self, other))
