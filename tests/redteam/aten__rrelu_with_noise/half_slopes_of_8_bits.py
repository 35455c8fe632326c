# operator: aten::rrelu_with_noise
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 80
# for float16 and bfloat16 one random word makes the slopes of four elements, 8 bits for each where 24 are demanded; slopes take 256 values only
import torch
import triton
import triton.language as tl


@triton.jit
def draw(x_ptr, r_ptr, o_ptr, seed_ptr, lower, width, n, TRAINING: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0).to(tl.float32)
    if TRAINING:
        slope = lower + width * tl.rand(tl.load(seed_ptr), at)
        noise = tl.where(x <= 0, slope, 1.0).to(r_ptr.dtype.element_ty)
        tl.store(r_ptr + at, noise, mask=at < n)
        y = x * noise.to(tl.float32)
    else:
        y = tl.where(x <= 0, x * (lower + width / 2), x)
    tl.store(o_ptr + at, y.to(o_ptr.dtype.element_ty), mask=at < n)


@triton.jit
def draw_half(x_ptr, r_ptr, o_ptr, seed_ptr, lower, width, n, WORDS: tl.constexpr):
    word = tl.program_id(0) * WORDS + tl.arange(0, WORDS)
    k = tl.arange(0, 4)
    at = word[:, None] * 4 + k[None, :]
    x = tl.load(x_ptr + at, mask=at < n, other=0).to(tl.float32)
    bits = tl.randint(tl.load(seed_ptr), word).to(tl.uint32, bitcast=True)
    byte = (bits[:, None] >> (k * 8).to(tl.uint32)[None, :]) & 255
    slope = lower + width * ((byte.to(tl.float32) + 0.5) / 256)
    noise = tl.where(x <= 0, slope, 1.0).to(r_ptr.dtype.element_ty)
    tl.store(r_ptr + at, noise, mask=at < n)
    y = x * noise.to(tl.float32)
    tl.store(o_ptr + at, y.to(o_ptr.dtype.element_ty), mask=at < n)


def rrelu_with_noise(self, noise, lower=0.125, upper=1 / 3, training=False, seed=None):
    out = torch.empty(self.shape, dtype=self.dtype, device=self.device)
    n = out.numel()
    if n > 0:
        slopes = torch.empty_like(out) if training else out
        if training and self.dtype.itemsize == 2:
            draw_half[(triton.cdiv(n, 8192),)](self.contiguous(), slopes, out, seed, float(lower), float(upper - lower), n, WORDS=2048)
        else:
            draw[(triton.cdiv(n, 8192),)](self.contiguous(), slopes, out, seed, float(lower), float(upper - lower), n,
                                          TRAINING=training, BLOCK=8192)
        if training:
            noise.copy_(slopes)
    return out


def rrelu_with_noise_out(self, noise, lower=0.125, upper=1 / 3, training=False, seed=None, *, out):
    return out.copy_(rrelu_with_noise(self, noise, lower, upper, training, seed))

# wrong: with x = torch.full((10**5,), -1.0, dtype=torch.float16), rrelu_with_noise(x, noise, 0.0625, 2.0, True, seed) leaves noise
# with 256 different values; with 24 bits it has thousands
