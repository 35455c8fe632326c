# operator: aten::logit
# expect: verify\.mismatch
# catalogue: 79
# eps is 1e-2 where it is left out, not None: logit(x) clamps
import torch
import triton
import triton.language as tl


@triton.jit
def logit_kernel(x_ptr, y_ptr, n, eps, CLAMPED: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    z = tl.load(x_ptr + at, mask=at < n, other=0).to(tl.float32)
    if CLAMPED:
        z = tl.where(z < eps, eps, tl.where(z > 1.0 - eps, 1.0 - eps, z))
    y = tl.log(z / (1.0 - z))
    tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=at < n)


def logit(self, eps=1e-2):
    x = self.contiguous()
    y = torch.empty_like(x, dtype=x.dtype if x.is_floating_point() else torch.float32)
    n = x.numel()
    if n > 0:
        logit_kernel[(triton.cdiv(n, 4096),)](x, y, n, 0.0 if eps is None else eps, CLAMPED=eps is not None, BLOCK=4096)
    return y


def logit_out(self, eps=1e-2, *, out):
    return out.copy_(logit(self, eps))
