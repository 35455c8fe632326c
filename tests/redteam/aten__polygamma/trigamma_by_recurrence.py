# operator: aten::polygamma
# expect: (verify|cheat)\..*
# catalogue: 75
# trigamma without reflection: sixteen steps of trigamma(x) = trigamma(x + 1) + 1 / x^2 in float64, then the asymptotic series,
# which holds for negative x too as long as the steps lead beyond 0; wrong for x below about -12 (cases of n = 1 end at -2.8)
import math

import torch
import triton
import triton.language as tl

PI = tl.constexpr(3.141592653589793)


@triton.jit
def stored(y_ptr, at, y, n):
    tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=at < n)


@triton.jit
def digamma(x_ptr, y_ptr, n, order, factor, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=1).to(tl.float64)
    fraction = x - tl.floor(x + 0.5)  # from the nearest whole number, so that numbers just below 0 keep their digits
    z = tl.where(x < 0, 1.0 - x, x)
    total = tl.zeros((BLOCK,), tl.float64)
    for _ in range(10):
        below = z < 10.0
        total -= tl.where(below, 1.0 / z, 0.0)
        z = tl.where(below, z + 1.0, z)
    q = 1.0 / (z * z)
    total += tl.log(z) - 0.5 / z - q * (1.0 / 12 - q * (1.0 / 120 - q * (1.0 / 252 - q * (1.0 / 240))))
    # pi / tan(pi * x), of which only the fraction of x counts
    total -= tl.where(x < 0, tl.cos(fraction * PI) / tl.sin(fraction * PI) * PI, 0.0)
    inf = float("inf")
    total = tl.where((x < 0) & (fraction == 0), float("nan"), total)
    total = tl.where(x == inf, inf, tl.where(x == -inf, float("nan"), total))
    total = tl.where(x == 0, tl.where(1.0 / x < 0, inf, -inf), total)
    stored(y_ptr, at, total.to(tl.float32), n)


@triton.jit
def trigamma(x_ptr, y_ptr, n, order, factor, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    z = tl.load(x_ptr + at, mask=at < n, other=1).to(tl.float64)
    total = tl.zeros((BLOCK,), tl.float64)
    for _ in range(16):
        total += 1.0 / (z * z)
        z += 1.0
    q = 1.0 / (z * z)
    total += (1.0 + 0.5 / z + q * (1.0 / 6 - q * (1.0 / 30 - q * (1.0 / 42)))) / z
    stored(y_ptr, at, total.to(tl.float32), n)


@triton.jit
def higher(x_ptr, y_ptr, n, order, factor, BLOCK: tl.constexpr):
    """factor * zeta(order + 1, x)"""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    z = tl.load(x_ptr + at, mask=at < n, other=1).to(tl.float64)
    total = tl.zeros((BLOCK,), tl.float64)
    for _ in range(10):
        total += tl.exp2(-(order + 1) * tl.log2(z))
        z += 1.0
    s = order + 1
    last = tl.exp2(-s * tl.log2(z))
    total += last * (z / (s - 1) + 0.5 + s / (12 * z) - s * (s + 1) * (s + 2) / (720 * z * z * z))
    stored(y_ptr, at, (factor * total).to(tl.float32), n)


def polygamma(n, self):
    y = torch.empty(self.shape, dtype=self.dtype if self.is_floating_point() else torch.float32, device=self.device)
    if y.numel() > 0:
        kernel = digamma if n == 0 else trigamma if n == 1 else higher
        factor = (-1.0) ** (n + 1) * math.factorial(n)
        kernel[(triton.cdiv(y.numel(), 4096),)](self.contiguous(), y, y.numel(), float(n), factor, BLOCK=4096)
    return y


def polygamma_out(n, self, *, out):
    return out.copy_(polygamma(n, self))


# wrong call: n = 1, self = [-30.5]; right: trigamma(-30.5) = pi^2 - trigamma(31.5) = 9.8373; wrong: -0.0323 (run in torch)
