# operator: aten::rsqrt
# style: torch._prims_common tells integers and the type of a result
import torch
import triton
import triton.language as tl
from torch._prims_common import ELEMENTWISE_TYPE_PROMOTION_KIND, elementwise_dtypes, is_integer_dtype


@triton.jit
def rsqrt_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=1).to(tl.float32)
    y = tl.rsqrt(x)
    tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=at < n)


def rsqrt(self):
    x = self.contiguous()
    _, dtype = elementwise_dtypes(x, type_promotion_kind=ELEMENTWISE_TYPE_PROMOTION_KIND.INT_TO_FLOAT)
    if torch._prims_common.is_integer_dtype(x.dtype) or is_integer_dtype(dtype):
        dtype = torch.float32
    y = torch.empty(x.shape, dtype=dtype, device=x.device)
    n = x.numel()
    if n > 0:
        rsqrt_kernel[(triton.cdiv(n, 2048),)](x, y, n, BLOCK=2048)
    return y


def rsqrt_out(self, *, out):
    return out.copy_(rsqrt(self))
