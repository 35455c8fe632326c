# operator: aten::exponential_
# style: four numbers from each Philox block, spread over quarters of the tensor; 1 - u, strides of eight dimensions
import torch
import triton
import triton.language as tl


@triton.jit
def store_one(x_ptr, at, bits, mean, n, s1, s2, s3, s4, s5, s6, s7, x0, x1, x2, x3, x4, x5, x6, x7):
    # 23 bits and a half: (0, 1), exactly
    u = ((bits >> 9).to(tl.float32) + 0.5) * (2.0 ** -23)
    inside = at < n
    place = at % s7 * x7 + at // s7 % s6 * x6
    rest = at // (s7 * s6)
    place += rest % s5 * x5 + rest // s5 % s4 * x4
    rest = rest // (s5 * s4)
    place += rest % s3 * x3 + rest // s3 % s2 * x2 + rest // (s3 * s2) % s1 * x1 + rest // (s3 * s2 * s1) * x0
    tl.store(x_ptr + place, -mean * tl.log(u), mask=inside)


@triton.jit
def draw(x_ptr, seed_ptr, mean, n, quarter, s1, s2, s3, s4, s5, s6, s7, x0, x1, x2, x3, x4, x5, x6, x7, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a, b, c, d = tl.randint4x(tl.load(seed_ptr), at)
    end = tl.minimum(quarter, n)
    store_one(x_ptr, tl.where(at < quarter, at, n), a.to(tl.uint32, bitcast=True), mean, n,
              s1, s2, s3, s4, s5, s6, s7, x0, x1, x2, x3, x4, x5, x6, x7)
    store_one(x_ptr, tl.where(at < end, at + quarter, n), b.to(tl.uint32, bitcast=True), mean, n,
              s1, s2, s3, s4, s5, s6, s7, x0, x1, x2, x3, x4, x5, x6, x7)
    store_one(x_ptr, tl.where(at < end, at + 2 * quarter, n), c.to(tl.uint32, bitcast=True), mean, n,
              s1, s2, s3, s4, s5, s6, s7, x0, x1, x2, x3, x4, x5, x6, x7)
    store_one(x_ptr, tl.where(at < end, at + 3 * quarter, n), d.to(tl.uint32, bitcast=True), mean, n,
              s1, s2, s3, s4, s5, s6, s7, x0, x1, x2, x3, x4, x5, x6, x7)


def exponential_(self, lambd=1.0, *, seed):
    n = self.numel()
    if n > 0:
        sizes = [1] * (8 - self.dim()) + list(self.shape)
        strides = [0] * (8 - self.dim()) + list(self.stride())
        quarter = triton.cdiv(n, 4)
        draw[(triton.cdiv(quarter, 4096),)](self, seed, 1 / lambd, n, quarter, *sizes[1:], *strides, BLOCK=4096)
    return self
