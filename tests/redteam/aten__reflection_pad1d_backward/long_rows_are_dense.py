# operator: aten::reflection_pad1d_backward
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 84
# open: layouts of long rows
# rows of more than 4096 elements are taken to have neighbours side by side, whatever the last stride is; wrong: a
# gradient of shape (N, L, C) seen as (N, C, L) by transpose(1, 2), L = 16000, or an expanded one (y.sum().backward())
import torch
import triton
import triton.language as tl


@triton.jit
def gather(g_ptr, o_ptr, n, width, out_width, left, channels, g_batch, g_channel, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    row, w = at // width, at % width
    g_row = row // channels * g_batch + row % channels * g_channel
    total = tl.zeros((BLOCK,), tl.float32)
    for way in tl.static_range(3):
        # p is the place before padding: w itself, its mirror image in front, and that behind
        if way == 0:
            p, real = w, w >= 0
        elif way == 1:
            p, real = -w, w > 0
        else:
            p, real = 2 * (width - 1) - w, w < width - 1
        o = p + left
        real = real & (o >= 0) & (o < out_width) & (at < n)
        total += tl.load(g_ptr + g_row + o, mask=real, other=0.0).to(tl.float32)
    tl.store(o_ptr + at, total.to(o_ptr.dtype.element_ty), mask=at < n)


def reflection_pad1d_backward(grad_output, self, padding):
    out = torch.empty(self.shape, dtype=grad_output.dtype, device=grad_output.device)
    return reflection_pad1d_backward_grad_input(grad_output, self, padding, grad_input=out)


def reflection_pad1d_backward_grad_input(grad_output, self, padding, *, grad_input):
    n = grad_input.numel()
    if n > 0:
        # Short rows are packed first; long ones are read where they lie.
        g = grad_output if self.shape[-1] > 4096 else grad_output.contiguous()
        batch = g.stride(0) if g.dim() == 3 else 0
        gather[(triton.cdiv(n, 2048),)](g, grad_input, n, self.shape[-1], g.shape[-1], padding[0], self.shape[-2], batch, g.stride(-2),
                                        BLOCK=2048)
    return grad_input
