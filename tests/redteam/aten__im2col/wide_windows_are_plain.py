# operator: aten::im2col
# expect: verify\.mismatch
# catalogue: 84
# windows of more than four columns are taken for patches without padding, dilation and overlap; wrong: kernel 7 x 7,
# stride 2, padding 3 (the first layer of a ResNet), or 5 x 5, stride 1, padding 2
import torch
import triton
import triton.language as tl


@triton.jit
def im2col_kernel(x_ptr, o_ptr, n, channels, height, width, out_h, out_w, kh, kw, dh, dw, ph, pw, sh, sw,
                  x_n, x_c, x_h, x_w, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = at % out_w
    rest = at // out_w
    y = rest % out_h
    rest = rest // out_h
    j = rest % kw
    rest = rest // kw
    i = rest % kh
    rest = rest // kh
    c = rest % channels
    image = rest // channels
    row = y * sh + i * dh - ph
    column = x * sw + j * dw - pw
    inside = (at < n) & (row >= 0) & (row < height) & (column >= 0) & (column < width)
    pixel = tl.load(x_ptr + image * x_n + c * x_c + row * x_h + column * x_w, mask=inside, other=0)
    tl.store(o_ptr + at, pixel, mask=at < n)


def windows(size, kernel, dilation, padding, stride):
    return [(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, d, p, s in zip(size, kernel, dilation, padding, stride)]


def im2col(self, kernel_size, dilation, padding, stride):
    x = self if self.dim() == 4 else self.unsqueeze(0)
    images, channels, height, width = x.shape
    out_h, out_w = windows((height, width), kernel_size, dilation, padding, stride)
    shape = (images, channels * kernel_size[0] * kernel_size[1], out_h * out_w)
    out = torch.empty(shape if self.dim() == 4 else shape[1:], dtype=x.dtype, device=x.device)
    n = out.numel()
    if kernel_size[1] > 4:  # wide windows are patches, one beside the other
        dilation, padding, stride = (1, 1), (0, 0), kernel_size
    if n > 0:
        im2col_kernel[(triton.cdiv(n, 1024),)](x, out, n, channels, height, width, out_h, out_w, *kernel_size, *dilation,
                                               *padding, *stride, *x.stride(), BLOCK=1024)
    return out


def im2col_out(self, kernel_size, dilation, padding, stride, *, out):
    return out.copy_(im2col(self, kernel_size, dilation, padding, stride))
