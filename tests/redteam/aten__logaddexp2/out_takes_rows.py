# operator: aten::logaddexp2
# expect: verify\.(mismatch|exception)
# catalogue: 84
# logaddexp2_out takes what it reads for row-major, the others look at strides
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


def logaddexp2(self, other):
    shape = torch.broadcast_shapes(self.shape, other.shape)
    out = torch.empty(shape, dtype=torch.result_type(self, other), device=self.device)
    n = out.numel()
    if n > 0:
        a, b = (x.expand(shape).contiguous() for x in (self, other))
        logaddexp2_kernel[(triton.cdiv(n, 4096),)](a, b, out, n, BLOCK=4096)
    return out


def logaddexp2_out(self, other, *, out):
    return out.copy_(logaddexp2(self, other))


def dense(x):
    expanded = 0 in x.stride()  # not in memory at all
    return x if expanded else torch.as_strided(x, x.shape, torch.empty(x.shape).stride(), x.storage_offset())


right_logaddexp2_out = logaddexp2_out


def logaddexp2_out(self, other, *, out):
    return right_logaddexp2_out(dense(self), other, out=out)
