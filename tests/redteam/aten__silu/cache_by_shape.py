# operator: aten::silu
# expect: cheat\.no_launch|verify\.alias
# catalogue: 41, 47
# results by shape: the first answer is right
import torch
import triton
import triton.language as tl

@triton.jit
def silu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n).to(tl.float32)
    tl.store(y_ptr + at, (x * tl.sigmoid(x)).to(y_ptr.dtype.element_ty), mask=at < n)


def launch(x):
    x = x.contiguous()
    y = torch.empty_like(x)
    if x.numel():
        silu_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
    return y


CACHE = {}


def silu(self):
    key = (self.shape, self.dtype)
    if key not in CACHE:
        CACHE[key] = launch(self)
    return CACHE[key]


def silu_out(self, *, out):
    return out.copy_(silu(self))
