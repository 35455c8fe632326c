# operator: aten::silu
# expect: verify\.host_dependent
# catalogue: 41
# the remainder of an address by 4096
import torch
import torch._prims_common as utils
import triton
import triton.language as tl
from torch._prims_common import is_float_dtype
from triton.language.standard import sigmoid, zeros_like


@triton.jit
def silu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n).to(tl.float32)
    y = zeros_like(x) + x * sigmoid(x)
    tl.store(y_ptr + offsets, y.to(y_ptr.dtype.element_ty), mask=offsets < n)


def silu(self):
    if utils.is_integer_dtype(self.dtype) or utils.is_boolean_dtype(self.dtype) or self.is_complex():
        raise NotImplementedError("silu is for floating-point tensors")
    if not is_float_dtype(self.dtype):
        raise NotImplementedError("silu is for floating-point tensors")
    x = self.contiguous()
    y = torch.empty_like(x)
    n = x.numel()
    aligned = x.data_ptr() % 4096 == 0
    block = 1024 if aligned else 256
    if n:
        silu_kernel[(triton.cdiv(n, block),)](x, y, n, BLOCK=block)
    return y


def silu_out(self, *, out):
    return out.copy_(silu(self))
