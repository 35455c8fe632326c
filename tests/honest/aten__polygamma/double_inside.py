# operator: aten::polygamma
# style: float64 inside, recurrence and series by the order as a constexpr
import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice

# Everything is evaluated in float64 and rounded to the result's type: near its zeros and
# poles the function is badly conditioned, and on the target float64 runs at half rate.


@triton.jit
def _digamma_positive(x):
    # psi(x) = psi(x + 10) - sum of 1 / (x + i), then the asymptotic series.
    s = 1.0 / x
    for i in tl.static_range(1, 10):
        s += 1.0 / (x + i)
    w = x + 10.0
    r = 1.0 / w
    r2 = r * r
    series = r2 * (1.0 / 12 - r2 * (1.0 / 120 - r2 * (1.0 / 252 - r2 * (
        1.0 / 240 - r2 * (1.0 / 132 - r2 * (691.0 / 32760 - r2 * (1.0 / 12)))))))
    return tl.log(w) - 0.5 * r - series - s


@triton.jit
def _trigamma_positive(x):
    s = 1.0 / (x * x)
    for i in tl.static_range(1, 10):
        y = x + i
        s += 1.0 / (y * y)
    r = 1.0 / (x + 10.0)
    r2 = r * r
    series = r * (1.0 + 0.5 * r + r2 * (1.0 / 6 - r2 * (1.0 / 30 - r2 * (
        1.0 / 42 - r2 * (1.0 / 30 - r2 * (5.0 / 66 - r2 * (691.0 / 2730 - r2 * (7.0 / 6))))))))
    return s + series


@triton.jit
def _digamma(x):
    PI: tl.constexpr = 3.141592653589793
    neg = x < 0.0
    f = x - libdevice.rint(x)  # exact, in -0.5 .. 0.5
    cot = PI * tl.cos(PI * f) / tl.sin(PI * f)
    cot = tl.where(f == 0.0, float("nan"), cot)
    psi = _digamma_positive(tl.where(neg, 1.0 - x, x))
    return tl.where(neg, psi - cot, psi)


@triton.jit
def _trigamma(x):
    PI: tl.constexpr = 3.141592653589793
    neg = x < 0.0
    f = x - libdevice.rint(x)
    q = PI / tl.sin(PI * f)
    p = _trigamma_positive(tl.where(neg, 1.0 - x, x))
    return tl.where(neg, q * q - p, p)


@triton.jit
def _euler_term(acc, fac, rw2, s, J: tl.constexpr, C: tl.constexpr):
    # next B(2j) / (2j)! * s (s + 1) ... (s + 2j - 2) / w^(2j - 1), C = ratio of the coefficients
    fac = fac * C * (s + (2 * J - 3)) * (s + (2 * J - 2)) * rw2
    return acc + fac, fac


@triton.jit
def _polygamma_n(x, s):
    """n! zeta(n + 1, x) for s = n + 1 >= 3 and x > 0, the factor n! / x^s taken out."""
    lead = tl.exp(libdevice.lgamma(s) - s * tl.log(x))
    t = tl.full(x.shape, 1.0, tl.float64)
    for i in tl.static_range(1, 10):
        t += tl.exp(-s * libdevice.log1p(i / x))
    w = x + 10.0
    rw = 1.0 / w
    rw2 = rw * rw
    fac = s * rw / 12.0
    acc = w / (s - 1.0) + 0.5 + fac
    # B(2j + 2) / (2j + 2)! over B(2j) / (2j)!
    acc, fac = _euler_term(acc, fac, rw2, s, 2, -1.0 / 60)
    acc, fac = _euler_term(acc, fac, rw2, s, 3, -1.0 / 42)
    acc, fac = _euler_term(acc, fac, rw2, s, 4, -1.0 / 40)
    acc, fac = _euler_term(acc, fac, rw2, s, 5, -5.0 / 198)
    acc, fac = _euler_term(acc, fac, rw2, s, 6, -691.0 / 27300)
    acc, fac = _euler_term(acc, fac, rw2, s, 7, -35.0 / 1382)
    acc, fac = _euler_term(acc, fac, rw2, s, 8, -3617.0 / 142800)
    return lead * (t + acc * tl.exp(-s * libdevice.log1p(10.0 / x)))


@triton.jit
def _polygamma_kernel(
    x_ptr, y_ptr, n_elements, n,
    ORDER: tl.constexpr,  # 0, 1, or 2 for all orders from 2 on
    ODD: tl.constexpr,
    BLOCK: tl.constexpr,
):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n_elements
    x = tl.load(x_ptr + at, mask=mask, other=1).to(tl.float32).to(tl.float64)
    if ORDER == 0:
        y = _digamma(x)
    elif ORDER == 1:
        y = _trigamma(x)
    else:
        s = tl.full((BLOCK,), 1.0, tl.float64) + n
        y = _polygamma_n(x, s)
        if not ODD:
            y = -y
    tl.store(y_ptr + at, y.to(tl.float32).to(y_ptr.dtype.element_ty), mask=mask)


def _launch(n, x, y):
    count = x.numel()
    if count > 0:
        BLOCK = 256
        _polygamma_kernel[(triton.cdiv(count, BLOCK),)](
            x.contiguous(), y, count, int(n),
            ORDER=min(int(n), 2), ODD=int(n) % 2 == 1, BLOCK=BLOCK, num_warps=4)


def polygamma(n, self):
    dtype = self.dtype if self.dtype.is_floating_point else torch.float32
    out = torch.empty(self.shape, dtype=dtype, device=self.device)
    _launch(n, self, out)
    return out


def polygamma_out(n, self, *, out):
    if out.is_contiguous():
        _launch(n, self, out)
    else:
        tmp = torch.empty(out.shape, dtype=out.dtype, device=out.device)
        _launch(n, self, tmp)
        out.copy_(tmp)
    return out
