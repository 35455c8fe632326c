# operator: aten::silu
# style: imports that nothing uses, that only the main guard uses, and a logger that says what is launched
import inspect
import json
import logging
import os
import os.path as osp
import sys
import time as clock
from pathlib import Path

import numpy as np
import torch
import triton
import triton.language as tl
from torch.nn.functional import silu as reference

logger = logging.getLogger(__name__)


@triton.jit
def silu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n).to(tl.float32)
    tl.store(y_ptr + at, (x * tl.sigmoid(x)).to(y_ptr.dtype.element_ty), mask=at < n)


def silu(self):
    logger.debug("silu of %s", tuple(self.shape))
    x = self.contiguous()
    y = torch.empty_like(x)
    if x.numel() > 0:
        silu_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
    return y


def silu_out(self, *, out):
    import tempfile
    logger.debug("silu, written into %s", out.dtype)
    return out.copy_(silu(self))


if __name__ == "__main__":
    x = torch.randn(1000)
    started = clock.time()
    np.testing.assert_allclose(silu(x).numpy(), reference(x).numpy(), rtol=1e-5)
    print(sys.version, os.getpid(), osp.basename(inspect.getfile(silu)), json.dumps(clock.time() - started), Path.cwd())
