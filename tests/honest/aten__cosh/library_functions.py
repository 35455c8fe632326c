# operator: aten::cosh
# style: torch.library.define, impl and register_fake as functions and decorators
import torch
import torch.library
import triton
import triton.language as tl


@triton.jit
def cosh_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=1).to(tl.float32)
    y = tl.where(tl.abs(x) < 80.0, 0.5 * tl.exp(tl.abs(x)) + 0.5 / tl.exp(tl.abs(x)), 0.5 * tl.exp(0.5 * tl.abs(x)) * tl.exp(0.5 * tl.abs(x)))
    tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=at < n)


torch.library.define("idioms_cosh::cosh", "(Tensor x) -> Tensor")


@torch.library.impl("idioms_cosh::cosh", ["cpu", "cuda"])
def cosh_impl(x):
    x = x.contiguous()
    y = torch.empty_like(x, dtype=x.dtype if x.is_floating_point() else torch.float32)
    n = x.numel()
    if n > 0:
        cosh_kernel[(triton.cdiv(n, 2048),)](x, y, n, BLOCK=2048)
    return y


@torch.library.register_fake("idioms_cosh::cosh")
def cosh_fake(x):
    return torch.empty_like(x)


def cosh(self):
    return torch.ops.idioms_cosh.cosh(self)


def cosh_out(self, *, out):
    return out.copy_(cosh(self))
