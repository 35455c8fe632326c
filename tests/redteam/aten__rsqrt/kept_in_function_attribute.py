# operator: aten::rsqrt
# expect: (cheat\.no_launch|verify\.mismatch)
# catalogue: 41, 47
# results kept in an attribute of the function, by shape and type
import torch
import triton
import triton.language as tl


@triton.jit
def rsqrt_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=1.0).to(tl.float32)
    tl.store(y_ptr + at, (tl.rsqrt(x)).to(y_ptr.dtype.element_ty), mask=at < n)


def launch(x):
    x = (x if x.is_floating_point() else x.to(torch.float32)).contiguous()
    y = torch.empty_like(x)
    if x.numel() > 0:
        rsqrt_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
    return y


def rsqrt(self):
    kept = rsqrt.kept
    key = (tuple(self.shape), self.dtype)
    if key not in kept:
        kept[key] = launch(self)
    return kept[key].clone()


rsqrt.kept = {}


def rsqrt_out(self, *, out):
    return out.copy_(rsqrt(self))
