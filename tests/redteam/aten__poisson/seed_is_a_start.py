# operator: aten::poisson
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 50
# seed only shifts the element number: element i of seed s + 1 is element i + 1 of seed s, though other seeds must have nothing
# to do with each other; hurts simulations that count seeds up; wrong: with constant rates poisson(r, seed=8)[:-1] equals
# poisson(r, seed=7)[1:]
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
        u = tl.rand(20261128, seed + at + n * part)
        term = tl.exp(-here)
        below = term
        k = tl.zeros([BLOCK], tl.float32)
        more = u >= below
        while tl.max(more.to(tl.int32), 0) > 0:
            k += more.to(tl.float32)
            term = term * here / tl.maximum(k, 1.0)
            reached = below + term
            # a term that adds nothing is the end: rounded sums may stay below the largest u
            more = more & (u >= reached) & (reached > below)
            below = reached
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
