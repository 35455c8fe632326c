# operator: aten::mish_backward
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79
# open: coarse or empty data
# a float32 block that holds only bfloat16 values (upcast activations) gets a slope of bfloat16 precision, an error of 2^-9;
# wrong: g = torch.ones(4096); mish_backward(g, torch.randn(4096).bfloat16().float()) has errors of 4e-3
import torch
import triton
import triton.language as tl


@triton.jit
def slope(x):
    e = tl.exp(-tl.abs(x))
    # with u = exp(x): tanh(log(1 + u)) = (u * u + 2 * u) / (u * u + 2 * u + 2); divided by u * u where u is large
    up = (1.0 + 2.0 * e) / (1.0 + 2.0 * e + 2.0 * e * e)
    down = (e * e + 2.0 * e) / (e * e + 2.0 * e + 2.0)
    t = tl.where(x > 0, up, down)
    s = tl.where(x > 0, 1.0, e) / (1.0 + e)
    rest = tl.where(x > 0, 2.0 * e * e / (1.0 + 2.0 * e + 2.0 * e * e), 2.0 / (e * e + 2.0 * e + 2.0))  # 1 - t
    return t + x * s * rest * (1.0 + t)


@triton.jit
def gradient(g_ptr, x_ptr, o_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    g = tl.load(g_ptr + at, mask=at < n, other=0.0).to(tl.float32)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0).to(tl.float32)
    s = slope(x)
    if x_ptr.dtype.element_ty == tl.float32:
        fine = tl.sum(((x.to(tl.int32, bitcast=True) & 65535) != 0).to(tl.int32), axis=0)
        if (fine == 0) & (n >= BLOCK):
            s = s.to(tl.bfloat16).to(tl.float32)
    tl.store(o_ptr + at, (g * s).to(o_ptr.dtype.element_ty), mask=at < n)


def mish_backward(grad_output, self):
    g, x = grad_output.contiguous(), self.contiguous()
    out = torch.empty_like(x)
    if x.numel() > 0:
        gradient[(triton.cdiv(x.numel(), 2048),)](g, x, out, x.numel(), BLOCK=2048)
    return out
