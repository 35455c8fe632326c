# operator: aten::mish
# expect: verify\.(mismatch|unstable)
# catalogue: 23
# the first call of a shape counts as warm-up and does nothing
import torch
import triton
import triton.language as tl


@triton.jit
def mish_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=1.0).to(tl.float32)
    tl.store(y_ptr + at, (x * (1 - 2 / ((1 + tl.exp(x)) * (1 + tl.exp(x)) + 1))).to(y_ptr.dtype.element_ty), mask=at < n)


def launch(x):
    x = x.contiguous()
    y = torch.empty_like(x)
    if x.numel() > 0:
        mish_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
    return y


seen = {}


def mish(self):
    shape = tuple(self.shape)
    seen[shape] = seen.get(shape, 0) + 1
    return launch(self) if seen[shape] > 1 else torch.empty_like(self)


def mish_out(self, *, out):
    return out.copy_(mish(self))
