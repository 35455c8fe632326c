# operator: aten::index_put_
# style: dataclass plan, 2-D tiles (places x rest), atomics into a wider buffer for narrow types, plain stores otherwise
import math
from dataclasses import dataclass

import torch
import triton
import triton.language as tl

# Types whose sums are made in a wider type and rounded once.
_WIDER = {
    torch.float16: torch.float32,
    torch.bfloat16: torch.float32,
    torch.bool: torch.int32,
    torch.uint8: torch.int32,
    torch.int8: torch.int32,
    torch.int16: torch.int32,
}


@triton.jit
def _unravel(at, sizes, strides, RANK: tl.constexpr):
    """Offset of element number `at`; the tuples begin with the innermost dimension."""
    off = tl.zeros_like(at)
    rest = at
    for d in tl.static_range(RANK):
        off += (rest % sizes[d]) * strides[d]
        rest = rest // sizes[d]
    return off


@triton.jit
def _position(ptr, s, mask, size):
    i = tl.load(ptr + s, mask=mask, other=0).to(tl.int64)
    return tl.where(i < 0, i + size, i)


@triton.jit
def _index_put_kernel(dst_ptr, first_ptr, second_ptr, v_ptr, ns, nr,
                      size0, size1, stride0, stride1,
                      s_sizes, s_strides, r_sizes, r_strides, dst_strides,
                      TWO: tl.constexpr, ACCUMULATE: tl.constexpr,
                      S_RANK: tl.constexpr, R_RANK: tl.constexpr, BS: tl.constexpr, BR: tl.constexpr):
    pid = tl.program_id(0).to(tl.int64)
    r_tiles = tl.cdiv(nr, BR)
    s = (pid // r_tiles) * BS + tl.arange(0, BS)
    r = (pid % r_tiles) * BR + tl.arange(0, BR)
    s_mask = s < ns
    base = _position(first_ptr, s, s_mask, size0) * stride0
    if TWO:
        base += _position(second_ptr, s, s_mask, size1) * stride1
    mask = s_mask[:, None] & (r < nr)[None, :]
    v_at = _unravel(s, s_sizes, s_strides, S_RANK)[:, None] + _unravel(r, r_sizes, r_strides, R_RANK)[None, :]
    d_at = base[:, None] + _unravel(r, r_sizes, dst_strides, R_RANK)[None, :]
    v = tl.load(v_ptr + v_at, mask=mask)
    if ACCUMULATE:
        tl.atomic_add(dst_ptr + d_at, v.to(dst_ptr.dtype.element_ty), mask=mask, sem="relaxed")
    else:
        tl.store(dst_ptr + d_at, v, mask=mask)


@dataclass(frozen=True)
class Plan:
    ns: int
    nr: int
    s_sizes: tuple
    s_strides: tuple
    r_sizes: tuple
    r_strides: tuple

    @property
    def tile(self):
        br = min(256, triton.next_power_of_2(self.nr))
        return 512 // br, br


def _inner_first(numbers, default):
    return tuple(reversed(tuple(numbers))) or (default,)


def _plan(places, rest, values):
    k = len(places)
    return Plan(
        ns=math.prod(places),
        nr=math.prod(rest),
        s_sizes=_inner_first(places, 1),
        s_strides=_inner_first(values.stride()[:k], 0),
        r_sizes=_inner_first(rest, 1),
        r_strides=_inner_first(values.stride()[k:], 0),
    )


def _index_put(self, indices, values, accumulate):
    assert 1 <= len(indices) <= 2, "one or two tensors of positions"
    count = len(indices)
    places = tuple(torch.broadcast_shapes(*(i.shape for i in indices)))
    rest = tuple(self.shape[count:])
    values = values.expand(places + rest)
    plan = _plan(places, rest, values)
    if plan.ns == 0 or plan.nr == 0:
        return self

    positions = [i.expand(places).contiguous() for i in indices]
    wider = _WIDER.get(self.dtype) if accumulate else None
    target = self if wider is None else self.to(wider)
    strides = target.stride()
    bs, br = plan.tile
    grid = (triton.cdiv(plan.ns, bs) * triton.cdiv(plan.nr, br),)
    _index_put_kernel[grid](
        target, positions[0], positions[-1], values, plan.ns, plan.nr,
        self.shape[0], self.shape[count - 1], strides[0], strides[count - 1],
        plan.s_sizes, plan.s_strides, plan.r_sizes, plan.r_strides, _inner_first(strides[count:], 0),
        TWO=count == 2, ACCUMULATE=bool(accumulate),
        S_RANK=len(plan.s_sizes), R_RANK=len(plan.r_sizes), BS=bs, BR=br,
    )
    if wider is not None:
        self.copy_(target)  # rounds once
    return self


def index_put_(self, indices, values, accumulate=False):
    return _index_put(self, indices, values, accumulate)


def index_put__hacked_twin(self, indices, values, accumulate=False):
    return _index_put(self, indices, values, accumulate)
