# operator: aten::upsample_nearest2d_backward
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79
# open: borders
# without given scales the source is y * H // OH in whole numbers, where the semantics say float32: gradients of some pixels go
# to the neighbour of the pixel that forward read; wrong: grad_output (1, 1, 14, 14), output_size [14, 14], input_size [1, 1,
# 62, 62]: row 7 goes to source 31; floor(7 * float32(62 / 14)) is 30
import torch
import triton
import triton.language as tl


@triton.jit
def source(k, scale, size):
    return tl.minimum(tl.floor(k.to(tl.float32) * scale).to(tl.int32), size - 1)


@triton.jit
def add(g_ptr, sums_ptr, n, out_height, out_width, height, width, scale_h, scale_w, WHOLE_H: tl.constexpr, WHOLE_W: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    g = tl.load(g_ptr + at, mask=at < n, other=0.0).to(tl.float32)
    y, x = at // out_width % out_height, at % out_width
    i = y * height // out_height if WHOLE_H else source(y, scale_h, height)
    j = x * width // out_width if WHOLE_W else source(x, scale_w, width)
    image = at // (out_width * out_height)
    tl.atomic_add(sums_ptr + (image * height + i) * width + j, g, mask=at < n)


def upsample_nearest2d_backward(grad_output, output_size, input_size, scales_h=None, scales_w=None):
    sums = torch.zeros(input_size, dtype=torch.float32, device=grad_output.device)
    n = grad_output.numel()
    if n > 0:
        height, width = input_size[2:]
        add[(triton.cdiv(n, 4096),)](
            grad_output.contiguous(), sums, n, output_size[0], output_size[1], height, width,
            1.0 / scales_h if scales_h else height / output_size[0], 1.0 / scales_w if scales_w else width / output_size[1],
            WHOLE_H=not scales_h, WHOLE_W=not scales_w, BLOCK=4096)
    return sums.to(grad_output.dtype)


def upsample_nearest2d_backward_grad_input(grad_output, output_size, input_size, scales_h=None, scales_w=None, *, grad_input):
    return grad_input.copy_(upsample_nearest2d_backward(grad_output, output_size, input_size, scales_h, scales_w))
