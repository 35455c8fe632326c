# operator: aten::sin
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 75
# int64 angles are cut to 32 bits before they become float32: hurts counters of nanoseconds and samples; wrong:
# sin(torch.tensor([2**33])) gives sin(0) = 0, not sin(8589934592.0) = 0.82
import torch
import triton
import triton.language as tl


@triton.jit
def sin_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    pid, lanes = tl.program_id(0).to(tl.int64), tl.arange(0, BLOCK).to(tl.int64)
    x_ptr += pid * BLOCK
    y_ptr += pid * BLOCK
    left = tl.cast(n, tl.int64) - pid * BLOCK
    x = tl.load(x_ptr + lanes, mask=lanes < left, other=0.0)
    if x.dtype == tl.int64:
        x = x.to(tl.int32)
    x = x.to(tl.float32)
    tl.store(y_ptr + lanes, tl.where(x == 0, x, tl.sin(x)).to(y_ptr.dtype.element_ty), mask=lanes < left)


def sin(self):
    x = self.contiguous()
    y = torch.empty_like(x, dtype=x.dtype if x.is_floating_point() else torch.float32)
    n = x.numel()
    if n > 0:
        sin_kernel[(triton.cdiv(n, 2048),)](x, y, n, BLOCK=2048)
    return y


def sin_out(self, *, out):
    return out.copy_(sin(self))
