# operator: aten::fmax
# expect: verify\.mismatch
# catalogue: 79
# (a + b + |a - b|) / 2: integers wrap, infinities turn into NaN
import torch
import triton
import triton.language as tl


@triton.jit
def fmax_kernel(a_ptr, b_ptr, o_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(a_ptr + at, mask=at < n).to(tl.float32)
    b = tl.load(b_ptr + at, mask=at < n).to(tl.float32)
    tl.store(o_ptr + at, ((a + b + tl.abs(a - b)) * 0.5).to(o_ptr.dtype.element_ty), mask=at < n)


def fmax(self, other):
    dtype = torch.result_type(self, other)
    shape = torch.broadcast_shapes(self.shape, other.shape)
    a, b = self.to(dtype).expand(shape).contiguous(), other.to(dtype).expand(shape).contiguous()
    out = torch.empty(shape, dtype=dtype, device=self.device)
    if out.numel() > 0:
        fmax_kernel[(triton.cdiv(out.numel(), 1024),)](a, b, out, out.numel(), BLOCK=1024)
    return out


def fmax_out(self, other, *, out):
    return out.copy_(fmax(self, other))
