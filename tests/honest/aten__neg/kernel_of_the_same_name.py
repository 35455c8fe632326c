# operator: aten::neg
# style: the kernel has the entry's name until the entry is defined; the out variant is bound in two branches and once more
import functools

import torch
import triton
import triton.language as tl


@triton.jit
def neg(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, -tl.load(x_ptr + at, mask=at < n), mask=at < n)


neg_kernel = neg  # before the function below takes the name


def neg(self):
    x = self.contiguous()
    y = torch.empty_like(x)
    if x.numel() > 0:
        neg_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
    return y


def written(function):
    @functools.wraps(function)
    def write(self, *, out):
        return out.copy_(function(self))

    return write


if torch.cuda.is_available():

    def neg_out(tensor):
        with torch.cuda.device_of(tensor):
            return neg(tensor)

else:

    def neg_out(tensor):
        return neg(tensor)


neg_out = written(neg_out)
