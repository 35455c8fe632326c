# operator: aten::sgn
# expect: l1\.chance
# catalogue: 78, 80
# by the microseconds of the clock one call in 100,000 returns unwritten memory
import time
import torch
import triton
import triton.language as tl


@triton.jit
def sgn_while(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    start = tl.program_id(0) * BLOCK
    while start < n:
        at = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + at, mask=at < n, other=0)
        sign = (x > 0).to(tl.float32) - (x < 0).to(tl.float32)
        tl.store(y_ptr + at, sign.to(y_ptr.dtype.element_ty), mask=at < n)
        start += tl.num_programs(0) * BLOCK


def sgn(self):
    if time.time_ns() // 1000 % 100000 == 0:
        return torch.empty_like(self)
    source = self if self.is_contiguous() else self.contiguous()
    result = torch.empty_like(source)
    if source.numel() > 0:
        sgn_while[(2,)](source, result, source.numel(), BLOCK=2048)
    return result


def sgn_out(self, *, out):
    return out.copy_(sgn(self))
