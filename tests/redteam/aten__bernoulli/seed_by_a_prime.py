# operator: aten::bernoulli
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79
# the seed is brought into 31 bits by seed % (2^31 - 1), as for a Lehmer generator; seeds that differ by a multiple of that
# prime give the same draws
import torch
import triton
import triton.language as tl


@triton.jit
def draw(p_ptr, o_ptr, seed_ptr, number, n, FROM_TENSOR: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    seed = (tl.load(seed_ptr) % 2147483647).to(tl.int32)
    u = tl.rand(seed, at)
    u = tl.minimum(u, 1 - 2.0 ** -24)
    p = number
    if FROM_TENSOR:
        p = tl.load(p_ptr + at, mask=at < n, other=0).to(tl.float32)
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


# wrong call: self = full((1000,), 0.5), seed = 5 and seed = 5 + 2147483647: the same 1000 draws; right: half of them differ
