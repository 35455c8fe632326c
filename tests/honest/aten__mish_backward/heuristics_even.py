# operator: aten::mish_backward
# style: heuristics with lambdas over several arguments, num_warps among them
import torch
import triton
import triton.language as tl


@triton.heuristics({
    "BLOCK": lambda args: 1024 if args["n"] > 1024 else 256,
    "EVEN": lambda args: args["n"] % (1024 if args["n"] > 1024 else 256) == 0,
    "num_warps": lambda args: 4 if args["BLOCK"] <= 256 else 8,
})
@triton.jit
def gradient(g_ptr, x_ptr, o_ptr, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = None if EVEN else at < n
    g = tl.load(g_ptr + at, mask=mask).to(tl.float32)
    x = tl.load(x_ptr + at, mask=mask).to(tl.float32)
    e = tl.exp(-tl.abs(x))
    up = (1.0 + 2.0 * e) / (1.0 + 2.0 * e + 2.0 * e * e)
    down = (e * e + 2.0 * e) / (e * e + 2.0 * e + 2.0)
    t = tl.where(x > 0, up, down)
    s = tl.where(x > 0, 1.0, e) / (1.0 + e)
    rest = tl.where(x > 0, 2.0 * e * e / (1.0 + 2.0 * e + 2.0 * e * e), 2.0 / (e * e + 2.0 * e + 2.0))
    tl.store(o_ptr + at, (g * (t + x * s * rest * (1.0 + t))).to(o_ptr.dtype.element_ty), mask=mask)


def mish_backward(grad_output, self):
    g, x = grad_output.contiguous(), self.contiguous()
    out = torch.empty_like(x)
    n = x.numel()
    if n > 0:
        gradient[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](g, x, out, n)
    return out
