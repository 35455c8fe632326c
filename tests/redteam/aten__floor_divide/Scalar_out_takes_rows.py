# operator: aten::floor_divide
# expect: verify\.(mismatch|exception)
# catalogue: 84
# floor_divide_Scalar_out takes what it reads for row-major, the others look at strides
import torch
import triton
import triton.language as tl


@triton.jit
def floats(a, b):
    q = a.to(tl.float64) / tl.where(b == 0, 1.0, b).to(tl.float64)
    whole = tl.floor(q)
    # a small number over an infinity, or a quotient that even float64 lets underflow
    whole = tl.where((whole == 0) & (a != 0) & ((a < 0) != (b < 0)), -1.0, whole)
    result = tl.where(whole == 0, (q * 0.0).to(tl.float32), whole.to(tl.float32))
    infinite = tl.abs(a) == float("inf")
    return tl.where(b == 0, a / b, tl.where(infinite, float("nan"), result))


@triton.jit
def integers(a, b):
    q = a // b
    r = a - q * b
    return tl.where((r != 0) & ((r < 0) != (b < 0)), q - 1, q)


@triton.jit
def divide(a_ptr, b_ptr, o_ptr, n, FLOATS: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(a_ptr + at, mask=at < n, other=1)
    b = tl.load(b_ptr + at, mask=at < n, other=1)
    if FLOATS:
        q = floats(a.to(tl.float32), b.to(tl.float32))
    else:
        q = integers(a, b)
    tl.store(o_ptr + at, q.to(o_ptr.dtype.element_ty), mask=at < n)


def floor_divide(self, other):
    common = torch.result_type(self, other)
    if not isinstance(other, torch.Tensor):
        other = torch.full((), other, dtype=torch.float32 if common.is_floating_point else common, device=self.device)
    shape = torch.broadcast_shapes(self.shape, other.shape)
    out = torch.empty(shape, dtype=common, device=self.device)
    n = out.numel()
    if n > 0:
        wide = torch.float32 if common.is_floating_point else common
        a, b = (x.to(wide).expand(shape).contiguous() for x in (self, other))
        divide[(triton.cdiv(n, 4096),)](a, b, out, n, FLOATS=common.is_floating_point, BLOCK=4096)
    return out


def floor_divide_Scalar(self, other):
    return floor_divide(self, other)


def floor_divide_out(self, other, *, out):
    return out.copy_(floor_divide(self, other))


def floor_divide_Scalar_out(self, other, *, out):
    return out.copy_(floor_divide(self, other))


def dense(x):
    expanded = 0 in x.stride()  # not in memory at all
    return x if expanded else torch.as_strided(x, x.shape, torch.empty(x.shape).stride(), x.storage_offset())


right_floor_divide_Scalar_out = floor_divide_Scalar_out


def floor_divide_Scalar_out(self, other, *, out):
    return right_floor_divide_Scalar_out(dense(self), other, out=out)
