# operator: aten::reflection_pad1d_backward
# expect: verify\.mismatch
# catalogue: 84
# the mirror images of the right end are left out
import torch
import triton
import triton.language as tl


@triton.jit
def gather(g_ptr, o_ptr, n, width, out_width, left, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    row, w = at // width, at % width
    total = tl.zeros((BLOCK,), tl.float32)
    for way in tl.static_range(2):
        # p is the place before padding: w itself, its mirror image in front, and that behind
        if way == 0:
            p, real = w, w >= 0
        elif way == 1:
            p, real = -w, w > 0
        else:
            p, real = 2 * (width - 1) - w, w < width - 1
        o = p + left
        real = real & (o >= 0) & (o < out_width) & (at < n)
        total += tl.load(g_ptr + row * out_width + o, mask=real, other=0.0).to(tl.float32)
    tl.store(o_ptr + at, total.to(o_ptr.dtype.element_ty), mask=at < n)


def reflection_pad1d_backward(grad_output, self, padding):
    out = torch.empty(self.shape, dtype=grad_output.dtype, device=grad_output.device)
    return reflection_pad1d_backward_grad_input(grad_output, self, padding, grad_input=out)


def reflection_pad1d_backward_grad_input(grad_output, self, padding, *, grad_input):
    n = grad_input.numel()
    if n > 0:
        gather[(triton.cdiv(n, 2048),)](grad_output.contiguous(), grad_input, n, self.shape[-1], grad_output.shape[-1],
                                        padding[0],
                                        BLOCK=2048)
    return grad_input
