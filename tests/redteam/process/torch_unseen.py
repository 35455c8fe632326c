# operator: aten::add
# expect: verify\.exception
# computed by an operator of another library, where modes are off; a kernel only copies it
# catalogue: 86
import torch
import triton
import triton.language as tl
from torch.utils._python_dispatch import _disable_current_modes


@triton.jit
def copy_kernel(source, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(source + i, mask=i < n), mask=i < n)


def add_Tensor(self, other, *, alpha=1):
    out = torch.empty(self.shape, dtype=self.dtype, device=self.device)
    with _disable_current_modes():
        one = torch.ones(1, 1)
        both = torch.ops.mkldnn._linear_pointwise.binary(self.reshape(-1, 1), other.reshape(-1, 1), one, None, "add")
    copy_kernel[(triton.cdiv(out.numel(), 256),)](both, out, out.numel(), BLOCK=256)
    return out
