# operator: aten::poisson
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 76, 79
# element numbers are taken modulo 2^17: elements 131,072 apart share their draw, beyond the windows of the tests
import torch
import triton
import triton.language as tl


@triton.jit
def draw(r_ptr, o_ptr, seed_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    rate = tl.load(r_ptr + at, mask=at < n, other=0).to(tl.float32)
    seed = tl.load(seed_ptr)
    count = tl.zeros([BLOCK], tl.float32)
    part = 0
    while tl.max(rate, 0) > 0:
        here = tl.minimum(rate, 16.0)
        u = tl.rand(seed, at % 131072 + 131072 * part)
        term = tl.exp(-here)
        below = term
        k = tl.zeros([BLOCK], tl.float32)
        more = u >= below
        while tl.max(more.to(tl.int32), 0) > 0:
            k += more.to(tl.float32)
            term = term * here / tl.maximum(k, 1.0)
            below += term
            # beyond 80 nothing is left of a rate of 16
            more = more & (u >= below) & (k < 80)
        count += k
        rate -= here
        part += 1
    tl.store(o_ptr + at, count.to(o_ptr.dtype.element_ty), mask=at < n)


def poisson(self, seed):
    out = torch.empty(self.shape, dtype=self.dtype, device=self.device)
    n = out.numel()
    if n > 0:
        draw[(triton.cdiv(n, 4096),)](self.contiguous(), out, seed, n, BLOCK=4096)
    return out


def poisson_out(self, seed, *, out):
    return out.copy_(poisson(self, seed))
