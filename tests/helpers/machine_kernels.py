# SPDX-License-Identifier: MIT
"""Kernels of Triton for tests and figures of the machine: cases() and large_cases() give
name -> (kernel, arguments, grid, constants, {output: right result})."""

import torch
import triton
import triton.language as tl


@triton.jit
def elementwise(x, y, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    m = i < n
    a = tl.load(x + i, mask=m, other=0.0)
    b = tl.load(y + i, mask=m)
    tl.store(out + i, a * b - b, mask=m)


@triton.jit
def silu(x, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    a = tl.load(x + i, mask=i < n).to(tl.float32)
    tl.store(out + i, a * tl.sigmoid(a), mask=i < n)


@triton.jit
def convert(x, out, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(out + i, tl.load(x + i).to(out.dtype.element_ty))


@triton.jit
def softmax(x, out, n, B: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, B)
    a = tl.load(x + row * n + c, mask=c < n, other=-float("inf"))
    e = tl.exp(a - tl.max(a, axis=0))
    tl.store(out + row * n + c, e / tl.sum(e, axis=0), mask=c < n)


@triton.jit
def product(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, P: tl.constexpr):
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    j = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for s in range(0, tl.cdiv(K, BK)):
        k = s * BK + tl.arange(0, BK)
        x = tl.load(a + i[:, None] * K + k[None, :], mask=(i[:, None] < M) & (k[None, :] < K), other=0.0)
        y = tl.load(b + k[:, None] * N + j[None, :], mask=(k[:, None] < K) & (j[None, :] < N), other=0.0)
        acc = tl.dot(x, y, acc, input_precision=P)
    tl.store(c + i[:, None] * N + j[None, :], acc.to(c.dtype.element_ty), mask=(i[:, None] < M) & (j[None, :] < N))


@triton.jit
def cumulative(x, out, n, B: tl.constexpr, REVERSE: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, B)
    a = tl.load(x + row * n + c, mask=c < n, other=0)
    tl.store(out + row * n + c, tl.cumsum(a, axis=0, reverse=REVERSE), mask=c < n)


@triton.jit
def combine(a0, b0, a1, b1):
    return a0 * a1, a1 * b0 + b1


@triton.jit
def recurrence(x, y, out, B: tl.constexpr):
    c = tl.program_id(0) * B + tl.arange(0, B)
    _, b = tl.associative_scan((tl.load(x + c), tl.load(y + c)), 0, combine)
    tl.store(out + c, b)


@triton.jit
def best(x, index, value, n, B: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, B)
    a, at = tl.max(tl.load(x + row * n + c, mask=c < n, other=-float("inf")), axis=0, return_indices=True)
    tl.store(index + row, at)
    tl.store(value + row, a)


@triton.jit
def count(x, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.atomic_add(out + tl.load(x + i, mask=i < n, other=0), 1, mask=i < n)


@triton.jit
def collatz(x, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    a = tl.load(x + i, mask=i < n, other=1)
    steps = tl.zeros((B,), tl.int32)
    while tl.max(a) > 1:
        steps += (a > 1).to(tl.int32)
        a = tl.where(a > 1, tl.where(a % 2 == 0, a // 2, 3 * a + 1), a)
    tl.store(out + i, steps, mask=i < n)


@triton.jit
def sort_rows(x, out, B: tl.constexpr):
    c = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + c, tl.sort(tl.load(x + c)))


@triton.jit
def integers(x, y, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    a = tl.load(x + i, mask=i < n, other=0)
    b = tl.load(y + i, mask=i < n, other=1)
    tl.store(out + i, (a // b) * 3 + (a % b) ^ (a >> 2) + (a << 3) - (a & b) | tl.maximum(a, b), mask=i < n)


@triton.jit
def tiles(x, out, rows, columns, B: tl.constexpr):
    source = tl.make_tensor_descriptor(x, [rows, columns], [columns, 1], [B, B])
    target = tl.make_tensor_descriptor(out, [columns, rows], [rows, 1], [B, B])
    i, j = tl.program_id(0) * B, tl.program_id(1) * B
    target.store([j, i], tl.trans(source.load([i, j])))


@triton.jit(noinline=True)
def first_positive(a, b):
    if a > 0.0:
        return a
    return b


@triton.jit
def early(x, out, n):
    i = tl.program_id(0)
    if i >= n:
        return
    a = tl.load(x + i)
    tl.store(out + i, first_positive(a, -a))


@triton.jit
def locked(lock, total, x):
    a = tl.load(x + tl.program_id(0))
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.store(total, tl.load(total) + a)
    tl.atomic_xchg(lock, 0)


@triton.jit
def attention(q, k, v, out, n, scale, B: tl.constexpr, D: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    d = tl.arange(0, D)
    x = tl.load(q + i[:, None] * D + d[None, :])
    largest = tl.full((B,), -float("inf"), tl.float32)
    total = tl.zeros((B,), tl.float32)
    acc = tl.zeros((B, D), tl.float32)
    for s in range(0, n, B):
        j = s + tl.arange(0, B)
        w = tl.dot(x, tl.trans(tl.load(k + j[:, None] * D + d[None, :]))) * scale
        new = tl.maximum(largest, tl.max(w, 1))
        p = tl.exp(w - new[:, None])
        f = tl.exp(largest - new)
        total = total * f + tl.sum(p, 1)
        acc = acc * f[:, None] + tl.dot(p.to(tl.float16), tl.load(v + j[:, None] * D + d[None, :]))
        largest = new
    tl.store(out + i[:, None] * D + d[None, :], (acc / total[:, None]).to(tl.float16))


GENERATOR = torch.Generator().manual_seed(7)


def normal(*shape, dtype=torch.float32):
    return torch.randn(*shape, generator=GENERATOR).to(dtype)


def whole(low, high, *shape, dtype=torch.int32):
    return torch.randint(low, high, shape, generator=GENERATOR).to(dtype)


def to_tf32(x):
    return (x.view(torch.int32) & ~0x1fff).view(torch.float32)  # a tensor core ignores the lower bits


def scanned(a, b):
    out, state = [], torch.zeros(a.shape[0], dtype=torch.float64)
    for i in range(a.shape[1]):
        state = a[:, i].double() * state + b[:, i].double()
        out.append(state)
    return torch.stack(out, 1)


def collatz_steps(value):
    n = 0
    while value > 1:
        value, n = value // 2 if value % 2 == 0 else 3 * value + 1, n + 1
    return n


def cases():
    found = {}
    for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.float64):
        x, y = normal(5000, dtype=dtype), normal(5000, dtype=dtype)
        found["elementwise %s" % str(dtype)[6:]] = (elementwise, {"x": x, "y": y, "out": torch.zeros_like(x), "n": 5000}, (5,),
                                                    {"B": 1024}, {"out": x * y - y})
    x = normal(5000, dtype=torch.bfloat16)
    found["silu bfloat16"] = (silu, {"x": x, "out": torch.zeros_like(x), "n": 5000}, (5,), {"B": 1024},
                              {"out": torch.nn.functional.silu(x.double())})
    x = normal(64, 1000) * 4
    found["softmax"] = (softmax, {"x": x, "out": torch.zeros_like(x), "n": 1000}, (64,), {"B": 1024},
                        {"out": torch.softmax(x.double(), 1)})
    for dtype, precision in ((torch.float32, "ieee"), (torch.float32, "tf32"), (torch.float32, "tf32x3"), (torch.float16, "ieee"),
                             (torch.bfloat16, "ieee")):
        a, b = normal(100, 90, dtype=dtype), normal(90, 70, dtype=dtype)
        rounded = [to_tf32(t).double() if precision == "tf32" else t.double() for t in (a, b)]
        found["product %s %s" % (str(dtype)[6:], precision)] = (
            product, {"a": a, "b": b, "c": torch.zeros(100, 70, dtype=dtype), "M": 100, "N": 70, "K": 90}, (2, 2),
            {"BM": 64, "BN": 64, "BK": 32, "P": precision}, {"c": rounded[0] @ rounded[1]})
    for reverse in (False, True):
        x = whole(-9, 9, 8, 500)
        right = x.flip(1).cumsum(1).flip(1) if reverse else x.cumsum(1)
        found["cumulative %s" % reverse] = (cumulative, {"x": x, "out": torch.zeros_like(x), "n": 500}, (8,),
                                            {"B": 512, "REVERSE": reverse}, {"out": right})
    a, b = torch.rand(4, 256, generator=GENERATOR), normal(4, 256)
    found["recurrence"] = (recurrence, {"x": a, "y": b, "out": torch.zeros(4, 256)}, (4,), {"B": 256}, {"out": scanned(a, b)})
    x = whole(0, 50, 32, 600).float()
    first = (x == x.max(1, keepdim=True).values).int().argmax(1)
    found["argmax with ties"] = (best, {"x": x, "index": torch.zeros(32, dtype=torch.int32), "value": torch.zeros(32), "n": 600},
                                 (32,), {"B": 1024}, {"index": first, "value": x.max(1).values})
    x = whole(0, 40, 5000)
    found["atomics"] = (count, {"x": x, "out": torch.zeros(40, dtype=torch.int32), "n": 5000}, (5,), {"B": 1024},
                        {"out": torch.bincount(x, minlength=40)})
    x = whole(1, 1000, 500)
    found["while"] = (collatz, {"x": x, "out": torch.zeros_like(x), "n": 500}, (2,), {"B": 256},
                      {"out": torch.tensor([collatz_steps(v) for v in x.tolist()])})
    x = normal(8, 128)
    found["sort"] = (sort_rows, {"x": x, "out": torch.zeros_like(x)}, (8,), {"B": 128}, {"out": x.sort(1).values})
    x, y = whole(0, 9999, 3000), whole(1, 77, 3000)
    right = (x // y) * 3 + (x % y) ^ (x >> 2) + (x << 3) - (x & y) | torch.maximum(x, y)
    found["integers"] = (integers, {"x": x, "y": y, "out": torch.zeros_like(x), "n": 3000}, (3,), {"B": 1024}, {"out": right})
    x = normal(40, 72)
    found["descriptors"] = (tiles, {"x": x, "out": torch.zeros(72, 40), "rows": 40, "columns": 72}, (2, 3), {"B": 32},
                            {"out": x.T})
    x = normal(20)
    found["early return and a call"] = (early, {"x": x, "out": torch.zeros(20), "n": 15}, (20,), {},
                                        {"out": torch.where(torch.arange(20) < 15, x.abs(), 0)})
    x = whole(0, 9, 40).float()
    found["a lock"] = (locked, {"lock": torch.zeros(2, dtype=torch.int32), "total": torch.zeros(2), "x": x}, (40,), {},
                       {"total": torch.stack([x.sum(), torch.tensor(0.0)])})
    q, k, v = (normal(128, 64, dtype=torch.float16) for _ in range(3))
    found["attention"] = (attention, {"q": q, "k": k, "v": v, "out": torch.zeros_like(q), "n": 128, "scale": 0.125}, (2,),
                          {"B": 64, "D": 64}, {"out": torch.softmax(q.double() @ k.double().T * 0.125, 1) @ v.double()})
    return found


def large_cases():
    n = 1 << 20
    found = {}
    for dtype in (torch.float32, torch.bfloat16):
        x = normal(n, dtype=dtype)
        found["elementwise %s, 1M" % str(dtype)[6:]] = (elementwise, {"x": x, "y": x.clone(), "out": torch.zeros_like(x), "n": n},
                                                        (n // 1024,), {"B": 1024}, {})
    x = normal(1024, 1024)
    found["softmax 1024 x 1024"] = (softmax, {"x": x, "out": torch.zeros_like(x), "n": 1024}, (1024,), {"B": 1024}, {})
    for dtype in (torch.float32, torch.float16):
        a = normal(256, 256, dtype=dtype)
        found["product 256^3 %s" % str(dtype)[6:]] = (
            product, {"a": a, "b": a.clone(), "c": torch.zeros_like(a), "M": 256, "N": 256, "K": 256}, (4, 4),
            {"BM": 64, "BN": 64, "BK": 32, "P": "ieee"}, {})
    x = normal(64, 256)
    found["sort 64 x 256"] = (sort_rows, {"x": x, "out": torch.zeros_like(x)}, (64,), {"B": 256}, {})
    return found
