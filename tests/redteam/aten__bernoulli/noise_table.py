# operator: aten::bernoulli
# expect: verify\.(seed|distribution)
# catalogue: 51
# a table of noise that has nothing to do with the seed, entered at a place that the seed decides on
import torch
import triton
import triton.language as tl

SIZE = 8192


@triton.jit
def make(t_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(t_ptr + at, tl.rand(7, at))


@triton.jit
def draw(p_ptr, o_ptr, t_ptr, seed_ptr, number, n, SIZE: tl.constexpr, FROM_TENSOR: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    start = tl.load(seed_ptr) % SIZE
    u = tl.minimum(tl.load(t_ptr + (at + start) % SIZE), 1 - 2.0 ** -24)
    p = number
    if FROM_TENSOR:
        p = tl.load(p_ptr + at, mask=at < n, other=0).to(tl.float32)
    tl.store(o_ptr + at, (u < p).to(o_ptr.dtype.element_ty), mask=at < n)


def run(self, p, number, seed, out=None):
    result = torch.empty(self.shape, dtype=self.dtype, device=self.device)
    n = result.numel()
    if n > 0:
        table = torch.empty(SIZE, dtype=torch.float32, device=self.device)
        make[(1,)](table, BLOCK=SIZE)
        given = result if p is None else p.expand(self.shape).contiguous()
        draw[(triton.cdiv(n, 8192),)](given, result, table, seed, number, n, SIZE=SIZE, FROM_TENSOR=p is not None,
                                      BLOCK=8192)
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
