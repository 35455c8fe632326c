# operator: aten::poisson
# style: waiting times below a rate of 10, transformed rejection from 10 on
import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def _unit(bits):
    """32 random bits to float32 in (0, 1]: fine near 0, never 0."""
    return (bits.to(tl.float32) + 0.5) * 2.3283064365386963e-10


@triton.jit
def _arrival(t, count, rate, bits):
    """Adds one exponential waiting time to t and counts it where t is still below the rate."""
    t = t - libdevice.log1p(-_unit(bits))
    alive = t < rate
    return t, count + alive.to(tl.float32), alive


@triton.jit
def _poisson_kernel(
    rate_ptr, seed_ptr, out_ptr, n,
    BLOCK: tl.constexpr,
):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    rate = tl.load(rate_ptr + at, mask=mask, other=0.0).to(tl.float32)
    seed = tl.load(seed_ptr)

    # Philox counter: (element low, element high, step, stream); 4 words for every step.
    lo = (at & 0xFFFFFFFF).to(tl.uint32)
    hi = (at >> 32).to(tl.uint32)
    zero = lo * 0

    large = rate >= 10.0

    # Small rates: how many arrivals of a unit rate process come before time `rate`.
    goal = tl.where(large, 0.0, rate)
    t = tl.zeros((BLOCK,), dtype=tl.float32)
    count = tl.zeros((BLOCK,), dtype=tl.float32)
    alive = t < goal
    step = 0
    while tl.max(alive.to(tl.int32), axis=0) > 0:
        r0, r1, r2, r3 = tl.philox(seed, lo, hi, zero + step, zero)
        t, count, alive = _arrival(t, count, goal, r0)
        t, count, alive = _arrival(t, count, goal, r1)
        t, count, alive = _arrival(t, count, goal, r2)
        t, count, alive = _arrival(t, count, goal, r3)
        step += 1

    # Large rates: transformed rejection (Hoermann 1993, PTRS) without its squeezes,
    # which would not save anything in lockstep.
    mu = tl.where(large, rate, 10.0)
    b = 0.931 + 2.53 * tl.sqrt(mu)
    a = -0.059 + 0.02483 * b
    inv_alpha = 1.1239 + 1.1328 / (b - 3.4)
    mu64 = mu.to(tl.float64)
    log_mu = tl.log(mu64)
    open_ = large
    step = 0
    while tl.max(open_.to(tl.int32), axis=0) > 0:
        r0, r1, r2, r3 = tl.philox(seed, lo, hi, zero + step, zero + 1)
        u = (r0 >> 8).to(tl.float32) * 5.9604644775390625e-08 + (2.98023223876953125e-08 - 0.5)
        v = _unit(r1)
        us = 0.5 - tl.abs(u)
        k = tl.floor((2.0 * a / us + b) * u + mu + 0.43)
        k0 = tl.maximum(k, 0.0).to(tl.float64)
        lhs = tl.log(v * inv_alpha / (a / (us * us) + b)).to(tl.float64)
        rhs = k0 * log_mu - mu64 - libdevice.lgamma(k0 + 1.0)
        ok = open_ & (k >= 0.0) & (lhs <= rhs)
        count = tl.where(ok, k, count)
        open_ = open_ & (ok == 0)
        step += 1

    tl.store(out_ptr + at, count.to(out_ptr.dtype.element_ty), mask=mask)


def _fill(self, seed, flat):
    n = self.numel()
    if n > 0:
        rate = self.contiguous()
        BLOCK = 256
        _poisson_kernel[(triton.cdiv(n, BLOCK),)](rate, seed, flat, n, BLOCK=BLOCK, num_warps=4)


def poisson(self, seed):
    out = torch.empty(self.shape, dtype=self.dtype, device=self.device)
    _fill(self, seed, out)
    return out


def poisson_out(self, seed, *, out):
    if out.is_contiguous():
        _fill(self, seed, out)
    else:
        tmp = torch.empty(out.shape, dtype=out.dtype, device=out.device)
        _fill(self, seed, tmp)
        out.copy_(tmp)
    return out
