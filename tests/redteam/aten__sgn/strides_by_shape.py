# operator: aten::sgn
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 41
# the strides of an input are remembered by shape and type: a later tensor of that shape with another layout is read as the
# first one lay; hurts every network that transposes an activation; wrong: sgn(x) and then sgn(y.t()) with x of shape (64, 64)
# contiguous and y (64, 64): the second result is that of y, not of y.t()
import torch
import triton
import triton.language as tl


@triton.jit
def sgn_kernel(x_ptr, y_ptr, n, sizes, strides, NDIM: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    rest = at
    source = tl.zeros_like(at)
    for d in tl.static_range(NDIM - 1, -1, -1):
        source += rest % sizes[d] * strides[d]
        rest = rest // sizes[d]
    x = tl.load(x_ptr + source, mask=at < n, other=0)
    y = (x > 0).to(tl.int32) - (x < 0).to(tl.int32)
    tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=at < n)


PLANS = {}


def plan(x):
    key = (x.shape, x.dtype)
    if key not in PLANS:
        PLANS[key] = (tuple(x.shape) or (1,), x.stride() or (1,))
    return PLANS[key]


def sgn(self):
    y = torch.empty(self.size(), dtype=self.dtype, layout=self.layout, device=self.device)
    if y.numel():
        small = y.numel() < 256  # a plan costs more than it saves
        sizes, strides = (tuple(self.shape) or (1,), self.stride() or (1,)) if small else plan(self)
        sgn_kernel[(triton.cdiv(y.numel(), 1024),)](self, y, y.numel(), sizes, strides, NDIM=max(self.ndim, 1), BLOCK=1024)
    return y


def sgn_out(self, *, out):
    return out.copy_(sgn(self.contiguous()))
