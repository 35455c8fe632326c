# operator: aten::hardsigmoid
# expect: verify\.mismatch
# catalogue: 79
# the definition of another library
import torch
import triton
import triton.language as tl


@triton.autotune(configs=[triton.Config({"BLOCK": 4096}, num_warps=8), triton.Config({"BLOCK": 1024}, num_warps=4)], key=["n"])
@triton.jit
def hardsigmoid_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0).to(tl.float32)
    y = tl.minimum(tl.maximum(0.2 * x + 0.5, 0.0), 1.0)
    tl.store(y_ptr + at, tl.where(x == x, y, x).to(y_ptr.dtype.element_ty), mask=at < n)


def hardsigmoid(self):
    x = self.contiguous()
    y = torch.empty_like(x)
    n = x.numel()
    if n > 0:
        hardsigmoid_kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, y, n)
    return y


def hardsigmoid_out(self, *, out):
    return out.copy_(hardsigmoid(self))
