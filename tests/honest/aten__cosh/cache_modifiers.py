# operator: aten::cosh
# style: cache modifiers, an eviction policy, multiple_of, max_contiguous, max_constancy, assume
import torch
import triton
import triton.language as tl


@triton.jit
def cosh_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    tl.assume(n > 0)
    start = tl.multiple_of(tl.program_id(0) * BLOCK, BLOCK)
    at = start + tl.max_contiguous(tl.multiple_of(tl.arange(0, BLOCK), BLOCK), BLOCK)
    limit = tl.max_constancy(tl.full([BLOCK], n, tl.int32), BLOCK)
    x = tl.load(x_ptr + at, mask=at < limit, other=0, cache_modifier=".cg")
    a = tl.abs(x.to(tl.float32))
    h = tl.exp(0.5 * a)
    y = tl.where(a < 80.0, 0.5 * tl.exp(a) + 0.5 / tl.exp(a), 0.5 * h * h)
    tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=at < limit, eviction_policy="evict_last")


def cosh(self):
    x = self.contiguous()
    y = torch.empty_like(x, dtype=x.dtype if x.is_floating_point() else torch.float32)
    n = x.numel()
    if n > 0:
        cosh_kernel[(triton.cdiv(n, 2048),)](x, y, n, BLOCK=2048)
    return y


def cosh_out(self, *, out):
    return out.copy_(cosh(self))
