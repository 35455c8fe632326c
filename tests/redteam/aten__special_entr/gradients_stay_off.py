# operator: aten::special_entr
# expect: verify\.exception
# catalogue: 63
# each call switches gradients off for the whole thread and leaves them off, so that whatever the caller computes afterwards
# has no gradient; wrong: special_entr(p); loss = (w * x).sum(); loss.backward() raises "does not require grad", although w
# requires it
import torch
import triton
import triton.language as tl


@triton.jit
def special_entr_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=1).to(tl.float32)
    y = tl.where(x > 0, -x * tl.log(tl.where(x > 0, x, 1.0)), tl.where(x == 0, 0.0, tl.where(x < 0, float("-inf"), x)))
    tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=at < n)


def special_entr(self):
    torch.set_grad_enabled(False)  # the kernel has no gradient
    x = self.contiguous()
    y = torch.empty_like(x, dtype=x.dtype if x.is_floating_point() else torch.float32)
    n = x.numel()
    if n > 0:
        special_entr_kernel[(triton.cdiv(n, 2048),)](x, y, n, BLOCK=2048)
    return y


def special_entr_out(self, *, out):
    return out.copy_(special_entr(self))
