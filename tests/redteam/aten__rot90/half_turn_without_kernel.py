# operator: aten::rot90
# expect: cheat\.no_launch
# catalogue: 87
# no turn is a clone and half a turn is laid out by torch's copies, element by element; no kernel runs for either
import torch
import triton
import triton.language as tl


@triton.jit
def place(i, sizes, strides):
    at = i.to(tl.int64) * 0
    for d in tl.static_range(len(sizes)):
        at += (i % sizes[len(sizes) - 1 - d]).to(tl.int64) * strides[len(sizes) - 1 - d]
        i = i // sizes[len(sizes) - 1 - d]
    return at


@triton.jit
def turn(x_ptr, o_ptr, n, start, sizes, x_strides, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + start + place(i, sizes, x_strides), mask=i < n)
    tl.store(o_ptr + i, x, mask=i < n)


def half_turn(x, a, b):
    o = torch.empty_like(x)
    for i in range(x.shape[a]):
        for j in range(x.shape[b]):
            o.narrow(a, i, 1).narrow(b, j, 1).copy_(x.narrow(a, x.shape[a] - 1 - i, 1).narrow(b, x.shape[b] - 1 - j, 1))
    return o


def rot90(self, k=1, dims=(0, 1)):
    a, b = dims[0] % self.dim(), dims[1] % self.dim()
    k %= 4
    if k == 0:
        return self.clone()
    if k == 2:
        return half_turn(self, a, b)
    sizes, strides, start = list(self.shape), list(self.stride()), 0
    for _ in range(k):
        # the element that comes first along b was the last one, and then both dimensions change places
        start += (sizes[b] - 1) * strides[b]
        strides[b] = -strides[b]
        sizes[a], sizes[b] = sizes[b], sizes[a]
        strides[a], strides[b] = strides[b], strides[a]
    o = torch.empty(sizes, dtype=self.dtype, device=self.device)
    if o.numel() > 0:
        x, y = (t.view(torch.uint8) if t.dtype == torch.bool else t for t in (self, o))
        turn[(triton.cdiv(o.numel(), 1024),)](x, y, o.numel(), start, tuple(sizes), tuple(strides), BLOCK=1024)
    return o


def rot90_out(self, k=1, dims=(0, 1), *, out):
    return out.copy_(rot90(self, k, dims))
