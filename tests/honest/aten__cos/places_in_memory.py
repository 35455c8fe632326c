# operator: aten::cos
# style: one kernel writes where the next one looks: without the first, the second reads and writes anywhere
import torch
import triton
import triton.language as tl


@triton.jit
def places_kernel(places_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(places_ptr + i, (n - 1 - i).to(tl.int64), mask=i < n)


@triton.jit
def cos_kernel(x_ptr, y_ptr, places_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    at = tl.load(places_ptr + i, mask=i < n, other=0)
    x = tl.load(x_ptr + at, mask=i < n, other=0).to(tl.float32)
    tl.store(y_ptr + at, tl.cos(x).to(y_ptr.dtype.element_ty), mask=i < n)


def cos(self):
    dtype = self.dtype if self.is_floating_point() else torch.float32
    y = torch.empty(self.shape, dtype=dtype, device=self.device)
    n = y.numel()
    if n > 0:
        places = torch.empty(n, dtype=torch.int64, device=self.device)
        grid = (triton.cdiv(n, 1024),)
        places_kernel[grid](places, n, BLOCK=1024)
        cos_kernel[grid](self.contiguous(), y, places, n, BLOCK=1024)
    return y


def cos_out(self, *, out):
    return out.copy_(cos(self))
