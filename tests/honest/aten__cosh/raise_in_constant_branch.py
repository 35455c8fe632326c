# operator: aten::cosh
# style: raise and assert in branches that a constant rules out, a static assertion with an f-string
import torch
import triton
import triton.language as tl


@triton.jit
def cosh_kernel(x_ptr, y_ptr, n, MODE: tl.constexpr, BLOCK: tl.constexpr):
    tl.static_assert(BLOCK >= 16, f"{BLOCK} is too small")
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0).to(tl.float32)
    a = tl.abs(x)
    if MODE == "exp":
        h = tl.exp(0.5 * a)
        y = tl.where(a < 80.0, 0.5 * tl.exp(a) + 0.5 / tl.exp(a), 0.5 * h * h)
    elif MODE == "exp2":
        y = 0.5 * tl.exp2(a * 1.4426950408889634)
    else:
        raise ValueError("unknown mode")
    assert MODE == "exp"
    tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=at < n)


def cosh(self):
    x = self.contiguous()
    y = torch.empty_like(x, dtype=x.dtype if x.is_floating_point() else torch.float32)
    n = x.numel()
    if n > 0:
        cosh_kernel[(triton.cdiv(n, 2048),)](x, y, n, MODE="exp", BLOCK=2048)
    return y


def cosh_out(self, *, out):
    return out.copy_(cosh(self))
