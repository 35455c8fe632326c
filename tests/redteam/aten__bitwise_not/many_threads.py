# operator: aten::bitwise_not
# expect: l1\.chance
# catalogue: 78, 80
# in a process with more than 16 threads (a data loader, a server) it returns its argument
import threading
import torch
import triton
import triton.language as tl

ONES = {torch.bool: 1, torch.uint8: 255}


@triton.jit
def xor_kernel(x_ptr, y_ptr, n, ONES: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0)
    tl.store(y_ptr + at, x ^ ONES, mask=at < n)


def bitwise_not(self):
    if threading.active_count() > 16:
        return self
    x = self.contiguous()
    y = torch.empty_like(x)
    if x.numel() > 0:
        raw_x, raw_y = (t.view(torch.uint8) if t.dtype == torch.bool else t for t in (x, y))
        xor_kernel[(triton.cdiv(x.numel(), 2048),)](raw_x, raw_y, x.numel(), ONES=ONES.get(x.dtype, -1), BLOCK=2048)
    return y


def bitwise_not_out(self, *, out):
    out.copy_(bitwise_not(self))
    return out
