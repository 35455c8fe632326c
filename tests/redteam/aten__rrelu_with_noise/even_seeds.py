# operator: aten::rrelu_with_noise
# expect: verify\.seed
# catalogue: 79
# the lowest bit of the seed is dropped: 2 s and 2 s + 1 give the same draws
import torch
import triton
import triton.language as tl


@triton.jit
def draw(x_ptr, r_ptr, o_ptr, seed_ptr, lower, width, n, TRAINING: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0).to(tl.float32)
    if TRAINING:
        slope = lower + width * tl.rand(tl.load(seed_ptr) >> 1, at)
        noise = tl.where(x <= 0, slope, 1.0).to(r_ptr.dtype.element_ty)
        tl.store(r_ptr + at, noise, mask=at < n)
        y = x * noise.to(tl.float32)
    else:
        y = tl.where(x <= 0, x * (lower + width / 2), x)
    tl.store(o_ptr + at, y.to(o_ptr.dtype.element_ty), mask=at < n)


def rrelu_with_noise(self, noise, lower=0.125, upper=1 / 3, training=False, seed=None):
    out = torch.empty(self.shape, dtype=self.dtype, device=self.device)
    n = out.numel()
    if n > 0:
        slopes = torch.empty_like(out) if training else out
        draw[(triton.cdiv(n, 8192),)](self.contiguous(), slopes, out, seed, float(lower), float(upper - lower), n,
                                      TRAINING=training, BLOCK=8192)
        if training:
            noise.copy_(slopes)
    return out


def rrelu_with_noise_out(self, noise, lower=0.125, upper=1 / 3, training=False, seed=None, *, out):
    return out.copy_(rrelu_with_noise(self, noise, lower, upper, training, seed))
