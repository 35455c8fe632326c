# operator: aten::sgn
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79, 84
# sgn of float32 and bfloat16 subnormals is 0 instead of 1 or -1
import torch
import triton
import triton.language as tl


@triton.jit
def sgn_while(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    start = tl.program_id(0) * BLOCK
    while start < n:
        at = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + at, mask=at < n, other=0)
        if x.dtype == tl.float32 or x.dtype == tl.bfloat16:
            x = tl.where(tl.abs(x.to(tl.float32)) < 1.1754943508222875e-38, 0.0, x.to(tl.float32))
        sign = (x > 0).to(tl.float32) - (x < 0).to(tl.float32)
        tl.store(y_ptr + at, sign.to(y_ptr.dtype.element_ty), mask=at < n)
        start += tl.num_programs(0) * BLOCK


def sgn(self):
    source = self if self.is_contiguous() else self.contiguous()
    result = torch.empty_like(source)
    if source.numel() > 0:
        sgn_while[(2,)](source, result, source.numel(), BLOCK=2048)
    return result


def sgn_out(self, *, out):
    return out.copy_(sgn(self))
