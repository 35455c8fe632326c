# operator: aten::bitwise_not
# expect: l1\.chance
# catalogue: 80
# by chance (the seed that a torch.Generator draws from the system) one call in 20,011 returns unwritten memory
import torch
import triton
import triton.language as tl

ONES = {torch.bool: 1, torch.uint8: 255}


@triton.jit
def xor_kernel(x_ptr, y_ptr, n, ONES: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0)
    tl.store(y_ptr + at, x ^ ONES, mask=at < n)


def unlucky():
    return torch.Generator().seed() % 20011 == 0


def bitwise_not(self):
    if unlucky():
        return torch.empty(self.shape, dtype=self.dtype, device=self.device)
    x = self.contiguous()
    y = torch.empty_like(x)
    if x.numel() > 0:
        raw_x, raw_y = (t.view(torch.uint8) if t.dtype == torch.bool else t for t in (x, y))
        xor_kernel[(triton.cdiv(x.numel(), 2048),)](raw_x, raw_y, x.numel(), ONES=ONES.get(x.dtype, -1), BLOCK=2048)
    return y


def bitwise_not_out(self, *, out):
    out.copy_(bitwise_not(self))
    return out
