# operator: aten::prelu
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79
# nobody looks at the autograd form of a new result (requires_grad, is_leaf), only at that of arguments and of views
# each result is a leaf that requires a gradient, although no argument does: in place operators and numpy() raise; wrong:
# y = prelu(torch.tensor([-1., 2.]), torch.tensor([.25])); y.add_(1) raises RuntimeError ("a leaf Variable that requires grad is
# being used in an in-place operation") and y.numpy() too; torch: y.requires_grad is False, y.add_(1) is tensor([0.75, 3.])
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
    x = self.contiguous()
    y = torch.empty_like(x, requires_grad=torch.is_grad_enabled())
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
