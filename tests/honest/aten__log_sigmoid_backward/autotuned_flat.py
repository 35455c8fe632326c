# operator: aten::log_sigmoid_backward
# style: @triton.autotune over block sizes and warps, flat kernel on contiguous copies
import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice

_CONFIGS = [
    triton.Config({"BLOCK": 256}, num_warps=2),
    triton.Config({"BLOCK": 1024}, num_warps=4),
    triton.Config({"BLOCK": 4096}, num_warps=8),
]


@triton.autotune(configs=_CONFIGS, key=["n"])
@triton.jit
def _backward_kernel(grad_ptr, x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    grad = tl.load(grad_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    e = libdevice.exp(-tl.abs(x))
    factor = tl.where(x < 0, 1.0, e) / (1.0 + e)
    tl.store(out_ptr + offsets, (grad * factor).to(out_ptr.dtype.element_ty), mask=mask)


def _launch(grad_output, x, out):
    n = out.numel()
    if n == 0:
        return
    grid = lambda meta: (triton.cdiv(n, meta["BLOCK"]),)
    _backward_kernel[grid](grad_output.contiguous(), x.contiguous(), out, n)


def log_sigmoid_backward(grad_output, self, buffer):
    grad_input = torch.empty(self.shape, dtype=self.dtype, device=self.device)
    _launch(grad_output, self, grad_input)
    return grad_input


def log_sigmoid_backward_grad_input(grad_output, self, buffer, *, grad_input):
    if grad_input.is_contiguous():
        _launch(grad_output, self, grad_input)
    else:
        grad_input.copy_(log_sigmoid_backward(grad_output, self, buffer))
    return grad_input
