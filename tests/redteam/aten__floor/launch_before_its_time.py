# operator: aten::floor
# expect: l1\.foreign_code
# catalogue: 27
# starts before the kernel in front of it has ended and reads before waiting (programmatic dependent launch)
import torch
import triton
import triton.language as tl


@triton.jit
def early(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.extra.cuda.gdc_launch_dependents()
    x = tl.load(x_ptr + at, mask=at < n)
    tl.extra.cuda.gdc_wait()
    tl.store(y_ptr + at, tl.floor(x.to(tl.float32)).to(x.dtype), mask=at < n)


def floor(self):
    x = self.contiguous()
    y = torch.empty_like(x)
    if x.numel() > 0:
        early[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024, launch_pdl=True)
    return y


def floor_out(self, *, out):
    return out.copy_(floor(self))
