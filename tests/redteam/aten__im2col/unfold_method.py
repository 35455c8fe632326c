# operator: aten::im2col
# expect: cheat\.(ghost|torch_compute)|l1\.\w+
# catalogue: 86, 88
# zeros with the image in the middle, views of its windows, one copy_: all of it allowed on the host. The kernel copies
# the result onto itself
import torch
import triton
import triton.language as tl


@triton.jit
def touch(o_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(o_ptr + at, tl.load(o_ptr + at, mask=at < n), mask=at < n)


def im2col(self, kernel_size, dilation, padding, stride):
    x = self if self.dim() == 4 else self.unsqueeze(0)
    n, c, h, w = x.shape
    (kh, kw), (dh, dw), (ph, pw), (sh, sw) = kernel_size, dilation, padding, stride
    padded = torch.zeros((n, c, h + 2 * ph, w + 2 * pw), dtype=x.dtype, device=self.device)
    padded.narrow(2, ph, h).narrow(3, pw, w).copy_(x)
    out_h, out_w = (h + 2 * ph - dh * (kh - 1) - 1) // sh + 1, (w + 2 * pw - dw * (kw - 1) - 1) // sw + 1
    a, b, r, s = padded.stride()
    seen = padded.as_strided((n, c, kh, kw, out_h, out_w), (a, b, r * dh, s * dw, r * sh, s * sw))
    out = seen.clone(memory_format=torch.contiguous_format).view(n, c * kh * kw, out_h * out_w)
    if out.numel() > 0:
        touch[(triton.cdiv(out.numel(), 1024),)](out, out.numel(), BLOCK=1024)
    return out if self.dim() == 4 else out.squeeze(0)


def im2col_out(self, kernel_size, dilation, padding, stride, *, out):
    return out.copy_(im2col(self, kernel_size, dilation, padding, stride))
