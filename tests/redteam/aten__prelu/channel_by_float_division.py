# operator: aten::prelu
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 84
# open: sizes
# the channel comes from a float32 product with 1 / inner: right up to about a million elements, the wrong slope at borders of
# channels of larger tensors; wrong: prelu(-torch.ones(1, 8, 1000003), torch.arange(8.)): element 7000020 and its neighbours
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
        w = tl.load(w_ptr + (((at.to(tl.float32) + 0.5) * (1.0 / inner)).to(tl.int32) % channels) * w_stride, mask=at < n).to(tl.float32)
    tl.store(y_ptr + at, tl.where(x > 0, x, w * x).to(y_ptr.dtype.element_ty), mask=at < n)


def prelu(self, weight):
    x = self.contiguous()
    y = torch.empty_like(x)
    n = x.numel()
    if n == 0:
        return y
    channels = weight.numel()
    inner = 1
    for size in x.shape[2:]:
        inner *= size
    block = min(2048, triton.next_power_of_2(n))
    stride = weight.stride(0) if weight.dim() > 0 else 0
    prelu_kernel[(triton.cdiv(n, block),)](x, weight, y, n, channels, inner, stride, BLOCK=block)
    return y
