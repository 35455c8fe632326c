# operator: aten::upsample_nearest2d_backward
# expect: verify\.mismatch
# catalogue: 72
# the scales that are given are ignored
import torch
import triton
import triton.language as tl


@triton.jit
def source(k, scale, size):
    return tl.minimum(tl.floor(k.to(tl.float32) * scale).to(tl.int32), size - 1)


@triton.jit
def add(g_ptr, sums_ptr, n, out_height, out_width, height, width, scale_h, scale_w, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    g = tl.load(g_ptr + at, mask=at < n, other=0.0).to(tl.float32)
    i = source(at // out_width % out_height, scale_h, height)
    j = source(at % out_width, scale_w, width)
    image = at // (out_width * out_height)
    tl.atomic_add(sums_ptr + (image * height + i) * width + j, g, mask=at < n)


def upsample_nearest2d_backward(grad_output, output_size, input_size, scales_h=None, scales_w=None):
    sums = torch.zeros(input_size, dtype=torch.float32, device=grad_output.device)
    n = grad_output.numel()
    if n > 0:
        height, width = input_size[2:]
        add[(triton.cdiv(n, 4096),)](
            grad_output.contiguous(), sums, n, output_size[0], output_size[1], height, width,
            height / output_size[0], width / output_size[1], BLOCK=4096)
    return sums.to(grad_output.dtype)


def upsample_nearest2d_backward_grad_input(grad_output, output_size, input_size, scales_h=None, scales_w=None, *, grad_input):
    return grad_input.copy_(upsample_nearest2d_backward(grad_output, output_size, input_size, scales_h, scales_w))
