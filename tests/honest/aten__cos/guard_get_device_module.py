# operator: aten::cos
# style: torch.get_device_module of the tensor's kind, asked for its number of devices
import torch
import triton
import triton.language as tl


@triton.jit
def cos_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=1).to(tl.float32)
    y = tl.cos(x)
    tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=at < n)


def cos(self):
    x = self.contiguous()
    y = torch.empty_like(x, dtype=x.dtype if x.is_floating_point() else torch.float32)
    n = x.numel()
    if n > 0:
        if x.device.type == "cuda":
            with torch.get_device_module(x.device).device(x.device):
                cos_kernel[(triton.cdiv(n, 2048),)](x, y, n, BLOCK=2048)
        else:
            cos_kernel[(triton.cdiv(n, 2048),)](x, y, n, BLOCK=2048)
    return y


def cos_out(self, *, out):
    return out.copy_(cos(self))
