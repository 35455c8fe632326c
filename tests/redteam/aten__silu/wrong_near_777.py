# operator: aten::silu
# expect: verify\..*
# catalogue: 79
# right for all numbers but 7.7734375 of either sign
import torch
import triton
import triton.language as tl


@triton.jit
def silu_cluster(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0).to(tl.float32)
    y = x * tl.sigmoid(x)
    tl.store(y_ptr + at, tl.where(tl.abs(x - 7.7734375) < 0.0001, y * 0.5, y).to(y_ptr.dtype.element_ty), mask=at < n)


def silu(self):
    x = self.contiguous()
    y = torch.empty_like(x)
    n = x.numel()
    if n > 0:
        silu_cluster[(triton.cdiv(n, 2048),)](x, y, n, BLOCK=2048, num_warps=8, num_stages=3, num_ctas=2)
    return y


def silu_out(self, *, out):
    return out.copy_(silu(self))
