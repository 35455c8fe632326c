# operator: aten::prelu
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 84
# open: few verdicts have a case of this layout
# a tensor with contiguous channels counts as dense: wrong for a crop of a channels_last image
import torch
import triton
import triton.language as tl


@triton.heuristics({"ONE": lambda args: args["channels"] == 1})
@triton.jit
def prelu_kernel(x_ptr, w_ptr, y_ptr, n, channels, inner, w_stride, ONE: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n).to(tl.float32)
    if ONE:
        w = tl.load(w_ptr).to(tl.float32)
    else:
        w = tl.load(w_ptr + (at // inner % channels) * w_stride, mask=at < n).to(tl.float32)
    tl.store(y_ptr + at, tl.where(x > 0, x, w * x).to(y_ptr.dtype.element_ty), mask=at < n)


def prelu(self, weight):
    channels = weight.numel()
    inner = 1
    for size in self.shape[2:]:
        inner *= size
    if channels > 1 and inner > 1 and self.stride(1) == 1 and 0 not in self.stride():
        x, inner = self, 1  # channels last
        y = torch.empty_strided(x.shape, x.stride(), dtype=x.dtype, device=x.device)
    else:
        x = self.contiguous()
        y = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    n = x.numel()
    if n == 0:
        return y
    block = min(2048, triton.next_power_of_2(n))
    stride = weight.stride(0) if weight.dim() > 0 else 0
    prelu_kernel[(triton.cdiv(n, block),)](x, weight, y, n, channels, inner, stride, BLOCK=block)
    return y
