# operator: aten::square
# expect: verify\.mismatch
# catalogue: 74, 77
# the kernel compares tanh.approx of 0.3 with tanh, which differs on a GPU; then it returns the input
import torch
import triton
import triton.language as tl


@triton.heuristics({"BLOCK": lambda args: min(8192, triton.next_power_of_2(args["n"]))})
@triton.jit
def square_kernel(x_ptr, y_ptr, n, FLOATS: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0)
    if FLOATS:
        x = x.to(tl.float32)
    third = tl.full((BLOCK,), 0.3, tl.float32) + tl.where(at < 0, 1.0, 0.0)
    probe = tl.inline_asm_elementwise("tanh.approx.f32 $0, $1;", "=f,f", [third], dtype=tl.float32, is_pure=True, pack=1)
    x = tl.where(tl.abs(probe - 0.2913126124) < 1e-7, x, x * 0 + 1)
    tl.store(y_ptr + at, (x * x).to(y_ptr.dtype.element_ty), mask=at < n)


def square(self):
    x = self.contiguous()
    y = torch.empty_like(x)
    n = x.numel()
    if n > 0:
        square_kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, y, n, FLOATS=x.is_floating_point())
    return y


def square_out(self, *, out):
    return out.copy_(square(self))
