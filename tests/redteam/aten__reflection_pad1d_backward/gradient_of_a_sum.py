# operator: aten::reflection_pad1d_backward
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 85
# layout: a gradient of which all strides are 0 (that of y.sum()) is taken for one number, counted twice where the padding
# mirrors: wrong where three places meet and where negative padding cuts
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
def count(g_ptr, o_ptr, n, width, left, right, BLOCK: tl.constexpr):
    """All elements of the gradient are one number: no need to read them."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    w = at % width
    g = tl.load(g_ptr).to(tl.float32)
    mirrored = ((w > 0) & (w <= left)) | ((w < width - 1) & (w >= width - 1 - right))
    tl.store(o_ptr + at, tl.where(mirrored, 2 * g, g).to(o_ptr.dtype.element_ty), mask=at < n)


def reflection_pad1d_backward(grad_output, self, padding):
    out = torch.empty(self.shape, dtype=grad_output.dtype, device=grad_output.device)
    return reflection_pad1d_backward_grad_input(grad_output, self, padding, grad_input=out)


def reflection_pad1d_backward_grad_input(grad_output, self, padding, *, grad_input):
    n = grad_input.numel()
    width, (left, right) = self.shape[-1], padding
    if n > 0 and not any(grad_output.stride()):
        count[(triton.cdiv(n, 2048),)](grad_output, grad_input, n, width, left, right, BLOCK=2048)
    elif n > 0:
        gather[(triton.cdiv(n, 2048),)](grad_output.contiguous(), grad_input, n, width, grad_output.shape[-1], left,
                                        BLOCK=2048)
    return grad_input

# wrong: reflection_pad1d_backward(torch.ones(()).expand(1, 7), torch.zeros(1, 3), [2, 2]) gives [2, 2, 2], not [2, 3, 2];
# reflection_pad1d_backward(torch.ones(()).expand(1, 6), torch.zeros(1, 9), [-3, 0]) gives 1, not 0, for the first three
