# operator: aten::neg
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 78
# the plan of a shape is kept under a hash of 20 bits and never compared with the shape; wrong: neg of (100, 1000) and then of
# another shape with the same hash, see below: only a part is written
import math

import torch
import triton
import triton.language as tl


@triton.jit
def _neg(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(y_ptr + at, -x, mask=at < n)


# (100, 1000) and (467, 1499) meet: the second is computed in part
PLANS = {}


def plan_of(shape):
    key = 0
    for size in shape:
        key = (key * 1000003 + size) & 0xFFFFF
    if key not in PLANS:
        PLANS[key] = math.prod(shape)
    return PLANS[key]


def neg(self):
    x = self.contiguous()
    y = torch.empty_like(x)
    n = plan_of(x.shape)
    if n > 0:
        _neg[(triton.cdiv(n, 1024),)](x, y, n, BLOCK=1024)
    return y


def neg_out(self, *, out):
    return out.copy_(neg(self))
