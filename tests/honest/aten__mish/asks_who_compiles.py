# operator: aten::mish
# style: torch.compiler.is_compiling and torch.jit.is_tracing asked before the launch: checks of arguments, and the block
import torch
import triton
import triton.language as tl


@triton.jit
def mish_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0).to(tl.float32)
    e = tl.exp(tl.minimum(x, 20.0))
    p = e * (e + 2.0)
    tl.store(y_ptr + at, tl.where(x > 20.0, x, x * (p / (p + 2.0))).to(y_ptr.dtype.element_ty), mask=at < n)


def mish(self):
    if not torch.jit.is_scripting() and not torch.jit.is_tracing():
        torch._check(self.is_floating_point(), lambda: f"expected floating point, got {self.dtype}")
    x = self.contiguous()
    y = torch.empty_like(x)
    block = 1024 if torch.compiler.is_compiling() else 2048
    if x.numel() > 0:
        mish_kernel[(triton.cdiv(x.numel(), block),)](x, y, x.numel(), BLOCK=block)
    return y


def mish_out(self, *, out):
    return out.copy_(mish(self))
