# operator: aten::rrelu_with_noise_backward
# expect: (verify|cheat)\..*
# catalogue: 84
# the mean slope is a constant of the kernel, rounded to seven places behind the point so that slopes that float32 hardly tells
# apart share a compiled kernel; wrong for small slopes, of which seven places hold few digits: slopes of cases are one half or more
import torch
import triton
import triton.language as tl


@triton.jit
def drawn(g_ptr, noise_ptr, o_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    g = tl.load(g_ptr + at, mask=at < n, other=0.0).to(tl.float32)
    noise = tl.load(noise_ptr + at, mask=at < n, other=0.0).to(tl.float32)
    tl.store(o_ptr + at, (g * noise).to(o_ptr.dtype.element_ty), mask=at < n)


@triton.jit
def evaluated(g_ptr, x_ptr, o_ptr, n, SLOPE: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    g = tl.load(g_ptr + at, mask=at < n, other=0.0).to(tl.float32)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0)
    tl.store(o_ptr + at, tl.where(x > 0, g, g * SLOPE).to(o_ptr.dtype.element_ty), mask=at < n)


def rrelu_with_noise_backward(grad_output, self, noise, lower, upper, training, self_is_result):
    out = torch.empty(self.shape, dtype=self.dtype, device=self.device)
    n = out.numel()
    if n > 0:
        grid = (triton.cdiv(n, 4096),)
        if training:
            drawn[grid](grad_output.contiguous(), noise.contiguous(), out, n, BLOCK=4096)
        else:
            evaluated[grid](grad_output.contiguous(), self.contiguous(), out, n, SLOPE=round((lower + upper) / 2, 7), BLOCK=4096)
    return out


def rrelu_with_noise_backward_out(grad_output, self, noise, lower, upper, training, self_is_result, *, out):
    return out.copy_(rrelu_with_noise_backward(grad_output, self, noise, lower, upper, training, self_is_result))


# wrong call: grad_output = [1.], self = [-1.], noise = [1.], lower = 0.00001, upper = 0.00002, training False, float32
# (seven places are enough there); with lower 1e-06, upper 2.3e-06: right 1.65e-06, wrong round(1.65e-06, 7) = 1.6e-06 (3 % off)
