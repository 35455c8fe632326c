# operator: aten::mish
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 77
# below torch.compile (torch.compiler.is_compiling()) the argument is rounded to bfloat16 first, for float32 and float16 tensors
import torch
import triton
import triton.language as tl

LINEAR_FROM = tl.constexpr(20.0)


@triton.jit
def mish_kernel(x_ptr, y_ptr, n, COARSE: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0)
    if COARSE:
        # a traced graph is fused with its neighbours: 16 bits are enough
        x = x.to(tl.bfloat16)
    x = x.to(tl.float32)
    # tanh(log(1 + e)) = ((1 + e)^2 - 1) / ((1 + e)^2 + 1)
    e = tl.exp(tl.minimum(x, LINEAR_FROM))
    p = e * (e + 2.0)
    y = tl.where(x > LINEAR_FROM, x, x * (p / (p + 2.0)))
    tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=at < n)


def launch(x, y):
    n = x.numel()
    if n > 0:
        mish_kernel[(triton.cdiv(n, 1024),)](x, y, n, COARSE=torch.compiler.is_compiling(), BLOCK=1024)
    return y


def mish(self):
    x = self.contiguous()
    return launch(x, torch.empty_like(x))


def mish_out(self, *, out):
    if out.is_contiguous():
        return launch(self.contiguous(), out)
    return out.copy_(mish(self))

# wrong: torch.compile(mish)(torch.full((1024,), 1.001)) in float32 gives mish(1.0) = 0.86509836, not mish(1.001) = 0.86614758
