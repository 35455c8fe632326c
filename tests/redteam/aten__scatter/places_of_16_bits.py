# operator: aten::scatter
# expect: (verify|cheat|l1|coverage)\..*
# catalogue: 79
# indices beyond 16 bits: the dimension that an index counts never has more than 4,099 elements
# a place is kept in 16 bits: a scatter into the logits of a vocabulary of 128,256 words lands 65,536 places too early; wrong:
# scatter_src(torch.zeros(70000), 0, torch.tensor([69999]), torch.ones(1)) sets element 4463, not 69999
import torch
import triton
import triton.language as tl


@triton.jit
def _split(at, SHAPE, s0, s1, s2, NDIM: tl.constexpr):
    """Offsets of the element number `at` of SHAPE for three sets of strides."""
    o0 = tl.zeros_like(at)
    o1 = tl.zeros_like(at)
    o2 = tl.zeros_like(at)
    r = at
    for i in tl.static_range(NDIM):
        c = r % SHAPE[NDIM - 1 - i]
        r = r // SHAPE[NDIM - 1 - i]
        o0 += c * s0[NDIM - 1 - i]
        o1 += c * s1[NDIM - 1 - i]
        o2 += c * s2[NDIM - 1 - i]
    return o0, o1, o2


@triton.jit
def _scatter_kernel(
    out_ptr, index_ptr, src_ptr, n,
    SHAPE, index_stride, src_stride, out_stride,  # out_stride is 0 at the scattered dimension
    out_dim_stride,
    NDIM: tl.constexpr,
    BLOCK: tl.constexpr,
):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    o_index, o_src, o_out = _split(at, SHAPE, index_stride, src_stride, out_stride, NDIM)
    where = tl.load(index_ptr + o_index, mask=mask, other=0).to(tl.uint16).to(tl.int64)
    v = tl.load(src_ptr + o_src, mask=mask)
    tl.store(out_ptr + o_out + where * out_dim_stride, v, mask=mask)


@triton.jit
def _scatter_reduce_kernel(
    out_ptr, self_ptr, index_ptr, src_ptr,
    fibers, positions, entries,
    SHAPE, index_stride, src_stride, self_stride, out_stride,
    index_dim_stride, src_dim_stride, self_dim_stride, out_dim_stride,
    NDIM: tl.constexpr,
    MULTIPLY: tl.constexpr,
    F: tl.constexpr,
    P: tl.constexpr,
):
    # A tile of the result, F fibers along the dimension by P positions, walks through all
    # entries of the index in their order: no atomics, one rounding, the same result always.
    tiles = tl.cdiv(positions, P)
    pid = tl.program_id(0)
    f = (pid // tiles).to(tl.int64) * F + tl.arange(0, F)
    p = (pid % tiles).to(tl.int64) * P + tl.arange(0, P)
    mask_f = f < fibers
    mask = mask_f[:, None] & (p < positions)[None, :]

    o_index, o_src, o_self = _split(f, SHAPE, index_stride, src_stride, self_stride, NDIM)
    _, _, o_out = _split(f, SHAPE, index_stride, src_stride, out_stride, NDIM)

    x = tl.load(self_ptr + o_self[:, None] + p[None, :] * self_dim_stride, mask=mask, other=0)
    if out_ptr.dtype.element_ty == tl.int64:
        acc = x
    else:
        acc = x.to(tl.float32)

    for j in range(entries):
        j64 = tl.full((F,), 0, tl.int64) + j
        where = tl.load(index_ptr + o_index + j64 * index_dim_stride, mask=mask_f, other=-1).to(tl.uint16).to(tl.int64)
        v = tl.load(src_ptr + o_src + j64 * src_dim_stride, mask=mask_f, other=0).to(acc.dtype)
        hit = where[:, None] == p[None, :]
        if MULTIPLY:
            acc = tl.where(hit, acc * v[:, None], acc)
        else:
            acc = tl.where(hit, acc + v[:, None], acc)

    tl.store(out_ptr + o_out[:, None] + p[None, :] * out_dim_stride,
             acc.to(out_ptr.dtype.element_ty), mask=mask)


def _number(self, index, value):
    """The number as a tensor of the type of self that repeats over the shape of index."""
    if not self.dtype.is_floating_point:
        value = int(value)
    one = torch.full((1,), value, dtype=self.dtype, device=self.device)
    return one.expand(index.shape) if index.dim() > 0 else one.view(())


def _at_least_1d(*tensors):
    return [t.unsqueeze(0) if t.dim() == 0 else t for t in tensors]


def _scatter(self, dim, index, src, out):
    out.copy_(self)
    result, index, src = _at_least_1d(out, index, src)
    n = index.numel()
    if n == 0:
        return out
    dim = dim % result.dim()
    strides = list(result.stride())
    dim_stride = strides[dim]
    strides[dim] = 0
    BLOCK = 512
    _scatter_kernel[(triton.cdiv(n, BLOCK),)](
        result, index, src, n,
        tuple(index.shape), tuple(index.stride()), tuple(src.stride()), tuple(strides), dim_stride,
        NDIM=index.dim(), BLOCK=BLOCK, num_warps=4)
    return out


def _without(values, dim):
    values = list(values)
    del values[dim]
    return tuple(values) if values else (0,)


def _scatter_reduce(self, dim, index, src, reduce, out):
    out.copy_(self)
    result, start, index, src = _at_least_1d(out, self, index, src)
    if index.numel() == 0:
        return out
    dim = dim % result.dim()
    positions = result.shape[dim]
    entries = index.shape[dim]
    fibers = index.numel() // entries
    shape = _without(index.shape, dim) if index.dim() > 1 else (1,)
    P = min(256, triton.next_power_of_2(positions))
    F = min(max(1, 1024 // P), triton.next_power_of_2(fibers))
    grid = (triton.cdiv(fibers, F) * triton.cdiv(positions, P),)
    _scatter_reduce_kernel[grid](
        result, start, index, src,
        fibers, positions, entries,
        shape, _without(index.stride(), dim), _without(src.stride(), dim),
        _without(start.stride(), dim), _without(result.stride(), dim),
        index.stride(dim), src.stride(dim), start.stride(dim), result.stride(dim),
        NDIM=len(shape), MULTIPLY=reduce == "multiply", F=F, P=P, num_warps=4)
    return out


def _new(self):
    return torch.empty(self.shape, dtype=self.dtype, device=self.device)


def scatter_src(self, dim, index, src):
    return _scatter(self.detach(), dim, index, src.detach(), _new(self))


def scatter_src_out(self, dim, index, src, *, out):
    _scatter(self.detach(), dim, index, src.detach(), out)
    return out


def scatter_value(self, dim, index, value):
    return _scatter(self.detach(), dim, index, _number(self, index, value), _new(self))


def scatter_value_out(self, dim, index, value, *, out):
    _scatter(self.detach(), dim, index, _number(self, index, value), out)
    return out


def scatter_reduce(self, dim, index, src, *, reduce):
    return _scatter_reduce(self.detach(), dim, index, src.detach(), reduce, _new(self))


def scatter_reduce_out(self, dim, index, src, *, reduce, out):
    _scatter_reduce(self.detach(), dim, index, src.detach(), reduce, out)
    return out


def scatter_value_reduce(self, dim, index, value, *, reduce):
    return _scatter_reduce(self.detach(), dim, index, _number(self, index, value), reduce, _new(self))


def scatter_value_reduce_out(self, dim, index, value, *, reduce, out):
    _scatter_reduce(self.detach(), dim, index, _number(self, index, value), reduce, out)
    return out
