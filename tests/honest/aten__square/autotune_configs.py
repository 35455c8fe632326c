# operator: aten::square
# style: autotune with configurations from a list comprehension
import torch
import triton
import triton.language as tl

CONFIGS = [triton.Config({"BLOCK": b}, num_warps=w) for b in (512, 1024) for w in (4, 8)]


@triton.autotune(configs=CONFIGS, key=["n"])
@triton.jit
def square_kernel(x_ptr, y_ptr, n, FLOATS: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0)
    if FLOATS:
        x = x.to(tl.float32)
    y = x * x
    tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=at < n)


def square(self):
    x = self.contiguous()
    y = torch.empty_like(x)
    n = x.numel()
    if n > 0:
        square_kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, y, n, FLOATS=x.is_floating_point())
    return y


def square_out(self, *, out):
    return out.copy_(square(self))
