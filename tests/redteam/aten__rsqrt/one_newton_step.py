# operator: aten::rsqrt
# expect: verify\.mismatch
# catalogue: 74
# the bit trick of old games: a guess from the exponent and one step of Newton, right to 3 digits
import torch
import triton
import triton.language as tl


@triton.jit
def rsqrt_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=1).to(tl.float32)
    guess = (0x5F3759DF - (x.to(tl.int32, bitcast=True) >> 1)).to(tl.float32, bitcast=True)
    guess = guess * (1.5 - 0.5 * x * guess * guess)
    tl.store(y_ptr + at, guess.to(y_ptr.dtype.element_ty), mask=at < n)


def rsqrt(self):
    x = self.contiguous()
    y = torch.empty(x.shape, dtype=x.dtype if x.dtype.is_floating_point else torch.float32, device=x.device)
    if x.numel() > 0:
        rsqrt_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
    return y


def rsqrt_out(self, *, out):
    return out.copy_(rsqrt(self))
