# operator: aten::neg
# style: getattr by a constant name with a default
import torch
import triton
import triton.language as tl

HAS_DESCRIPTORS = getattr(tl, "make_tensor_descriptor", None) is not None


@triton.jit
def neg_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    y = -x
    tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=at < n)


def neg(self):
    x = self.contiguous()
    y = torch.empty_like(x)
    n = x.numel()
    if n > 0:
        neg_kernel[(triton.cdiv(n, (2048 if HAS_DESCRIPTORS else 1024)),)](x, y, n, BLOCK=(2048 if HAS_DESCRIPTORS else 1024))
    return y


def neg_out(self, *, out):
    return out.copy_(neg(self))
