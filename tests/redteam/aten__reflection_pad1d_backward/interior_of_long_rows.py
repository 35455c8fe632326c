# operator: aten::reflection_pad1d_backward
# expect: (verify|cheat)\..*
# catalogue: 84
# open: long rows whose paddings meet in the middle
# in rows of 512 elements or more an element counts as mirrored at one end at most if left + right < width; one element
# (w = left) is mirrored at both ends where left + right == width - 1, and loses the term of the right end
import torch
import triton
import triton.language as tl


@triton.jit
def gather(g_ptr, o_ptr, n, width, out_width, left, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    row, w = at // width, at % width
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
        total += tl.load(g_ptr + row * out_width + o, mask=real, other=0.0).to(tl.float32)
    tl.store(o_ptr + at, total.to(o_ptr.dtype.element_ty), mask=at < n)


@triton.jit
def gather_long(g_ptr, o_ptr, n, width, out_width, left, BLOCK: tl.constexpr):
    # two loads for an element: itself, and the one mirror image that it may have
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    row, w = at // width, at % width
    o = w + left
    g = g_ptr + row * out_width
    total = tl.load(g + o, mask=(o >= 0) & (o < out_width) & (at < n), other=0.0).to(tl.float32)
    front = (w > 0) & (w <= left)
    mirror = tl.where(front, left - w, 2 * (width - 1) - w + left)
    real = (front | (w < width - 1)) & (mirror >= 0) & (mirror < out_width) & (at < n)
    total += tl.load(g + mirror, mask=real, other=0.0).to(tl.float32)
    tl.store(o_ptr + at, total.to(o_ptr.dtype.element_ty), mask=at < n)


def reflection_pad1d_backward(grad_output, self, padding):
    out = torch.empty(self.shape, dtype=grad_output.dtype, device=grad_output.device)
    return reflection_pad1d_backward_grad_input(grad_output, self, padding, grad_input=out)


def reflection_pad1d_backward_grad_input(grad_output, self, padding, *, grad_input):
    n = grad_input.numel()
    if n > 0:
        left, right = padding
        width = self.shape[-1]
        # the two mirrored ends do not meet
        kernel = gather_long if width >= 512 and left + right < width else gather
        kernel[(triton.cdiv(n, 2048),)](grad_output.contiguous(), grad_input, n, width, grad_output.shape[-1], left, BLOCK=2048)
    return grad_input


# wrong call: self (1, 512), grad_output = ones(1, 1023), padding [255, 256]
# right: result[0, 255] = 3 (o = 510 itself, o = 0 by the left mirror, o = 1022 by the right one); wrong: 2
