# operator: aten::bernoulli
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 80
# open: dependent or coarse draws
# the random word of every third element is the xor of the two before it: pairs are independent, triples are not (half of all
# dropout patterns never occur); wrong: bernoulli_p(torch.empty(3000), 0.5, seed=s).view(-1, 3).sum(1) is never even
import torch
import triton
import triton.language as tl


@triton.jit
def draw(p_ptr, o_ptr, seed_ptr, number, n, FROM_TENSOR: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    seed = tl.load(seed_ptr)
    one, two = tl.randint(seed, at // 3 * 2), tl.randint(seed, at // 3 * 2 + 1)
    word = tl.where(at % 3 == 0, one, tl.where(at % 3 == 1, two, one ^ two))
    u = ((word >> 8) & 16777215).to(tl.float32) * 5.9604644775390625e-8
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
