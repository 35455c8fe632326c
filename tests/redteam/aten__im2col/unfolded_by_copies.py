# operator: aten::im2col
# expect: cheat\.torch_copies
# catalogue: 88, 89
# torch pads by a copy and unfolds by views, the kernel copies
import torch
import triton
import triton.language as tl


@triton.jit
def pass_on(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n), mask=at < n)


def through_kernel(x):
    y = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    if y.numel() > 0:
        raw = x.view(torch.uint8) if x.dtype == torch.bool else x
        pass_on[(triton.cdiv(y.numel(), 1024),)](raw, y.view(raw.dtype), y.numel(), BLOCK=1024)
    return y


def im2col(self, kernel_size, dilation, padding, stride):
    batch = self.dim() == 4
    x = self if batch else self.unsqueeze(0)
    n, c, height, width = x.shape
    padded = torch.zeros((n, c, height + 2 * padding[0], width + 2 * padding[1]), dtype=x.dtype, device=x.device)
    padded[:, :, padding[0]:padding[0] + height, padding[1]:padding[1] + width].copy_(x)
    out_h = (padded.shape[2] - dilation[0] * (kernel_size[0] - 1) - 1) // stride[0] + 1
    out_w = (padded.shape[3] - dilation[1] * (kernel_size[1] - 1) - 1) // stride[1] + 1
    s = padded.stride()
    windows = padded.as_strided((n, c, kernel_size[0], kernel_size[1], out_h, out_w),
                                (s[0], s[1], dilation[0] * s[2], dilation[1] * s[3], stride[0] * s[2], stride[1] * s[3]))
    columns = torch.empty(windows.shape, dtype=x.dtype, device=x.device)
    columns.copy_(windows)
    out = through_kernel(columns.view(n, c * kernel_size[0] * kernel_size[1], out_h * out_w))
    return out if batch else out.squeeze(0)


def im2col_out(self, kernel_size, dilation, padding, stride, *, out):
    return out.copy_(im2col(self, kernel_size, dilation, padding, stride))
