# operator: aten::rrelu_with_noise_backward
# expect: verify\.(mismatch|exception)
# catalogue: 84
# rrelu_with_noise_backward_out takes what it reads for row-major, the others look at strides
import torch
import triton
import triton.language as tl


@triton.jit
def gradient(g_ptr, x_ptr, noise_ptr, o_ptr, n, mean, DRAWN: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    g = tl.load(g_ptr + at, mask=at < n, other=0.0).to(tl.float32)
    if DRAWN:
        y = g * tl.load(noise_ptr + at, mask=at < n, other=0.0).to(tl.float32)
    else:
        y = tl.where(tl.load(x_ptr + at, mask=at < n, other=0.0) > 0, g, g * mean)
    tl.store(o_ptr + at, y.to(o_ptr.dtype.element_ty), mask=at < n)


def rrelu_with_noise_backward(grad_output, self, noise, lower, upper, training, self_is_result):
    out = torch.empty(self.shape, dtype=self.dtype, device=self.device)
    n = out.numel()
    if n > 0:
        gradient[(triton.cdiv(n, 4096),)](grad_output.contiguous(), self.contiguous(), noise.contiguous(), out, n,
                                          (lower + upper) / 2, DRAWN=training, BLOCK=4096)
    return out


def rrelu_with_noise_backward_out(grad_output, self, noise, lower, upper, training, self_is_result, *, out):
    return out.copy_(rrelu_with_noise_backward(grad_output, self, noise, lower, upper, training, self_is_result))


def dense(x):
    return torch.as_strided(x, x.shape, torch.empty(x.shape).stride(), x.storage_offset())


right_rrelu_with_noise_backward_out = rrelu_with_noise_backward_out


def rrelu_with_noise_backward_out(grad_output, self, noise, lower, upper, training, self_is_result, *, out):
    return right_rrelu_with_noise_backward_out(dense(grad_output), self, dense(noise), lower, upper, training, self_is_result, out=out)
