# operator: aten::floor
# expect: cheat\.no_launch
# catalogue: 41, 47
# results kept in a default argument, by the number of elements
import torch
import triton
import triton.language as tl


@triton.jit
def floor_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=1.0).to(tl.float32)
    tl.store(y_ptr + at, (tl.floor(x)).to(y_ptr.dtype.element_ty), mask=at < n)


def launch(x):
    x = x.contiguous()
    y = torch.empty_like(x)
    if x.numel() > 0:
        floor_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
    return y


def answer(x, kept={}):
    n = x.numel()
    if n not in kept:
        kept[n] = launch(x)
    return kept[n].clone().view(x.shape)


def floor(self):
    return answer(self)


def floor_out(self, *, out):
    return out.copy_(floor(self))
