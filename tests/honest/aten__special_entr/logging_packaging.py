# operator: aten::special_entr
# style: logging.basicConfig, packaging.version where it is installed
import logging

import torch
import triton
import triton.language as tl

try:
    from packaging import version

    NEW = version.parse(triton.__version__) >= version.parse("3.0.0")
except ImportError:
    NEW = tuple(map(int, triton.__version__.split(".")[:2])) >= (3, 0)

logging.basicConfig(level=logging.WARNING)
logger = logging.getLogger(__name__)
TORCH_2 = torch.__version__ >= (2, 0)


@triton.jit
def special_entr_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=1).to(tl.float32)
    y = tl.where(x > 0, -x * tl.log(tl.where(x > 0, x, 1.0)), tl.where(x == 0, 0.0, tl.where(x < 0, float("-inf"), x)))
    tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=at < n)


def special_entr(self):
    x = self.contiguous()
    y = torch.empty_like(x, dtype=x.dtype if x.is_floating_point() else torch.float32)
    n = x.numel()
    if n > 0:
        logger.debug("%d elements", n)
        block = 2048 if NEW and TORCH_2 else 1024
        special_entr_kernel[(triton.cdiv(n, block),)](x, y, n, BLOCK=block)
    return y


def special_entr_out(self, *, out):
    return out.copy_(special_entr(self))
