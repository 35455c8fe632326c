# operator: aten::bernoulli
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 80
# open: dependent or coarse draws
# probabilities are rounded to 64 steps, 0 and 1 kept: an event of probability 0.005 never happens (rare events, light dropout);
# wrong: bernoulli_p(torch.empty(100000), 0.005, seed=s) is 0 everywhere
import torch
import triton
import triton.language as tl


@triton.jit
def draw(p_ptr, o_ptr, seed_ptr, number, n, FROM_TENSOR: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    u = tl.rand(tl.load(seed_ptr), at)
    u = tl.minimum(u, 1 - 2.0 ** -24)
    p = number
    if FROM_TENSOR:
        p = tl.load(p_ptr + at, mask=at < n, other=0).to(tl.float32)
    p = tl.floor(p * 64.0 + 0.5) / 64.0
    tl.store(o_ptr + at, (u < p).to(o_ptr.dtype.element_ty), mask=at < n)


def run(self, p, number, seed, out=None):
    result = torch.empty(self.shape, dtype=self.dtype, device=self.device)
    n = result.numel()
    if n > 0:
        given = result if p is None else p.expand(self.shape).contiguous()
        draw[(triton.cdiv(n, 8192),)](given, result, seed, number, n, FROM_TENSOR=p is not None, BLOCK=8192)
    return result if out is None else out.copy_(result)


def bernoulli(self, *, seed):
    return run(self, self, 0.0, seed)


def bernoulli_out(self, *, seed, out):
    return run(self, self, 0.0, seed, out)


def bernoulli_p(self, p, *, seed):
    return run(self, None, p, seed)


def bernoulli_float_out(self, p=0.5, *, seed, out):
    return run(self, None, p, seed, out)


def bernoulli_Tensor(self, p, *, seed):
    return run(self, p, 0.0, seed)


def bernoulli_Tensor_out(self, p, *, seed, out):
    return run(self, p, 0.0, seed, out)
