# operator: aten::hardsigmoid
# style: the compiled kernel that a launch returns, its asm and metadata kept in a dict
import torch
import triton
import triton.language as tl

COMPILED = {}


@triton.jit
def hardsigmoid_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=1).to(tl.float32)
    y = tl.where(x <= -3.0, 0.0, tl.where(x >= 3.0, 1.0, x / 6.0 + 0.5))
    tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=at < n)


def hardsigmoid(self):
    x = self.contiguous()
    y = torch.empty_like(x)
    n = x.numel()
    if n > 0:
        compiled = hardsigmoid_kernel[(triton.cdiv(n, 2048),)](x, y, n, BLOCK=2048)
        COMPILED[x.dtype] = (compiled.metadata.num_warps, sorted(compiled.asm))
    return y


def hardsigmoid_out(self, *, out):
    return out.copy_(hardsigmoid(self))
