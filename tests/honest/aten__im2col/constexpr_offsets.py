# operator: aten::im2col
# style: a block of positions of all images, loops over the window with constexpr tuples of pairs inside
import torch
import triton
import triton.language as tl


@triton.jit
def windows(x_ptr, o_ptr, n, positions, channels, height, width, out_w, x_n, x_c, x_h, x_w, KERNEL: tl.constexpr,
            DILATION: tl.constexpr, PADDING: tl.constexpr, STRIDE: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    plane, position = at // positions, at % positions
    top = position // out_w * STRIDE[0] - PADDING[0]
    left = position % out_w * STRIDE[1] - PADDING[1]
    base = x_ptr + plane // channels * x_n + plane % channels * x_c
    for i in range(KERNEL[0]):
        for j in range(KERNEL[1]):
            y, x = top + i * DILATION[0], left + j * DILATION[1]
            inside = (at < n) & (y >= 0) & (y < height) & (x >= 0) & (x < width)
            pixel = tl.load(base + y * x_h + x * x_w, mask=inside, other=0)
            row = (plane * KERNEL[0] + i) * KERNEL[1] + j
            tl.store(o_ptr + row * positions + position, pixel, mask=at < n)


def im2col(self, kernel_size, dilation, padding, stride):
    image = self if self.dim() == 4 else self[None]
    images, channels, height, width = image.shape
    out_h, out_w = ((size + 2 * p - d * (k - 1) - 1) // s + 1
                    for size, k, d, p, s in zip((height, width), kernel_size, dilation, padding, stride))
    out = torch.empty((images, channels * kernel_size[0] * kernel_size[1], out_h * out_w), dtype=self.dtype, device=self.device)
    if out.numel() > 0:
        n = images * channels * out_h * out_w
        windows[(triton.cdiv(n, 512),)](
            image, out, n, out_h * out_w, channels, height, width, out_w, *image.stride(), KERNEL=tuple(kernel_size),
            DILATION=tuple(dilation), PADDING=tuple(padding), STRIDE=tuple(stride), BLOCK=512)
    return out if self.dim() == 4 else out[0]


def im2col_out(self, kernel_size, dilation, padding, stride, *, out):
    return out.copy_(im2col(self, kernel_size, dilation, padding, stride))
