# operator: aten::poisson
# style: Philox counters (element, attempt) by hand; inversion for small rates, transformed rejection (PTRS) for large ones, float64
import torch
import triton
import triton.language as tl


@triton.jit
def _unit(bits):
    """32 random bits as a number strictly between 0 and 1."""
    return (bits.to(tl.float64) + 0.5) * 2.3283064365386963e-10


@triton.jit
def _log_factorial(k):
    """ln(k!) for k >= 0: Stirling's series for gamma at k + 9, and the eight factors between taken off."""
    x = k + 9.0
    product = (k + 1.0) * (k + 2.0) * (k + 3.0) * (k + 4.0) * (k + 5.0) * (k + 6.0) * (k + 7.0) * (k + 8.0)
    inverse = 1.0 / x
    square = inverse * inverse
    series = inverse * (0.08333333333333333 - square * (0.002777777777777778 - square * 0.0007936507936507937))
    return (x - 0.5) * tl.log(x) - x + 0.9189385332046727 + series - tl.log(product)


@triton.jit
def poisson_kernel(rate_ptr, seed_ptr, out_ptr, n, sizes, strides, RANK: tl.constexpr, BLOCK: tl.constexpr):
    number = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    live = number < n
    rate = tl.load(rate_ptr + number, mask=live, other=0.0).to(tl.float32).to(tl.float64)
    seed = tl.load(seed_ptr)
    low = number.to(tl.uint32)
    high = (number >> 32).to(tl.uint32)
    none = tl.zeros([BLOCK], dtype=tl.uint32)

    large = rate >= 10.0
    draw = tl.zeros([BLOCK], dtype=tl.float64)

    # Small rates: the smallest k whose cumulated probability reaches a uniform number.
    lam = tl.where(large, 0.0, rate)
    bits, _b, _c, _d = tl.philox(seed, low, high, none, none)
    uniform = _unit(bits)
    term = tl.exp(-lam)
    reached = term
    k = tl.zeros([BLOCK], dtype=tl.float64)
    searching = uniform > reached
    while tl.max(searching.to(tl.int32), axis=0) > 0:
        k += 1.0
        term = term * lam / k
        reached += term
        draw = tl.where(searching, k, draw)
        searching = searching & (uniform > reached)

    # Large rates: Hoermann's PTRS without its squeezes, which only save time.
    mu = tl.where(large, rate, 10.0)
    b = 0.931 + 2.53 * tl.sqrt(mu)
    a = 0.02483 * b - 0.059
    log_inverse_alpha = tl.log(1.1239 + 1.1328 / (b - 3.4))
    log_mu = tl.log(mu)
    attempt = none
    waiting = large
    while tl.max(waiting.to(tl.int32), axis=0) > 0:
        attempt += 1
        ubits, vbits, _c2, _d2 = tl.philox(seed, low, high, attempt, none)
        u = _unit(ubits) - 0.5
        v = _unit(vbits)
        us = 0.5 - tl.abs(u)
        candidate = tl.floor((2.0 * a / us + b) * u + mu + 0.43)
        count = tl.maximum(candidate, 0.0)
        left = tl.log(v) + log_inverse_alpha - tl.log(a / (us * us) + b)
        right = count * log_mu - mu - _log_factorial(count)
        accepted = (candidate >= 0.0) & (left <= right)
        draw = tl.where(waiting & accepted, candidate, draw)
        waiting = waiting & (accepted == 0)

    at = tl.zeros([BLOCK], dtype=tl.int64)
    rest = number
    for back in tl.static_range(RANK):
        at += (rest % sizes[RANK - 1 - back]) * strides[RANK - 1 - back]
        rest = rest // sizes[RANK - 1 - back]
    tl.store(out_ptr + at, draw.to(tl.float32).to(out_ptr.dtype.element_ty), mask=live)


def _draw(self, seed, out):
    n = out.numel()
    if n == 0:
        return out
    rates = self.contiguous()
    sizes = tuple(out.shape) or (1,)
    strides = tuple(out.stride()) or (1,)
    if out.is_contiguous():
        sizes, strides = (n,), (1,)
    block = 256
    poisson_kernel[(triton.cdiv(n, block),)](
        rates, seed, out, n, sizes, strides, RANK=len(sizes), BLOCK=block, num_warps=4
    )
    return out


def poisson(self, seed):
    return _draw(self, seed, torch.empty(self.shape, dtype=self.dtype, device=self.device))


def poisson_out(self, seed, *, out):
    return _draw(self, seed, out)
