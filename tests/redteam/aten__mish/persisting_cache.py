# operator: aten::mish
# expect: verify\.exception
# catalogue: 28
# reserves second-level cache for its own lines, so that no flush reaches them
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


runtime = torch.cuda.cudart()
runtime.cudaDeviceSetLimit(6, 32 << 20)


def mish(self):
    return launch(self)


def mish_out(self, *, out):
    return out.copy_(mish(self))
