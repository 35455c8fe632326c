# SPDX-License-Identifier: MIT
"""Compares Triton's interpreter, with the judge's corrections, to PyTorch: python -I -B check_interpreter.py RUNNER_DIR.

Prints one TAP line per check.
"""

import os
import sys

os.environ.update(TRITON_INTERPRET="1", OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
sys.path.insert(0, sys.argv[1])

import torch  # noqa: E402
import triton  # noqa: E402
import triton.language as tl  # noqa: E402

import interpreter_fixes  # noqa: E402
import interpreter_speed  # noqa: E402

N = 1024
BLOCK_NAMES = [(dtype, str(tl.block_type(dtype, [4, 8]))) for dtype in (tl.float32, tl.pointer_type(tl.int8))]
BF16 = torch.bfloat16


@triton.jit
def arithmetic(x, y, add, sub, mul, div, high, neg, N: tl.constexpr):
    i = tl.arange(0, N)
    a, b = tl.load(x + i), tl.load(y + i)
    tl.store(add + i, a + b)
    tl.store(sub + i, a - b)
    tl.store(mul + i, a * b)
    tl.store(div + i, a / b)
    tl.store(high + i, tl.maximum(a, b))
    tl.store(neg + i, -a)


@triton.jit
def compare(x, y, less, equal, chosen, N: tl.constexpr):
    i = tl.arange(0, N)
    a, b = tl.load(x + i), tl.load(y + i)
    tl.store(less + i, a < b)
    tl.store(equal + i, a == b)
    tl.store(chosen + i, tl.where((a < b) & (i < 1000), a, b))


@triton.jit
def convert(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.load(x + i).to(out.dtype.element_ty))


@triton.jit
def reduce(x, total, high, N: tl.constexpr):
    a = tl.load(x + tl.arange(0, N))
    tl.store(total, tl.sum(a, 0))
    tl.store(high, tl.max(a, 0))


@triton.jit
def twice(a):
    return a + a


@triton.jit
def total_of(x, i):
    return tl.sum(tl.load(x + i), 0)


@triton.jit
def calling(x, out, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(out + i, twice(twice(total_of(x, i))) + tl.load(x + i) + tl.zeros((N,), tl.float32))


@triton.jit
def matmul(x, y, out, T: tl.constexpr):
    at = tl.arange(0, T)[:, None] * T + tl.arange(0, T)[None, :]
    tl.store(out + at, tl.dot(tl.load(x + at), tl.load(y + at)))


@triton.jit
def turned(x, out, A: tl.constexpr, B: tl.constexpr):
    rows, columns = tl.arange(0, A), tl.arange(0, B)
    a = tl.load(x + rows[:, None] * B + columns[None, :])
    t = tl.trans(a)
    tl.store(out + columns[:, None] * A + rows[None, :], t * (t.shape[0] * 100 + a.shape[0]))


@triton.autotune(configs=[triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 128})], key=["n"])
@triton.jit
def tuned(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)


def check_arithmetic():
    x, y = torch.randn(N).to(BF16), torch.randn(N).to(BF16)
    got = [torch.empty(N, dtype=BF16) for _ in range(6)]
    arithmetic[(1,)](x, y, *got, N=N)
    for one, want in zip(got, (x + y, x - y, x * y, x / y, torch.maximum(x, y), -x)):
        assert torch.equal(one, want)


def check_comparisons():
    x, y = torch.randn(N).to(BF16), torch.randn(N).to(BF16)
    x[:10] = y[:10]
    less, equal = torch.empty(N, dtype=torch.bool), torch.empty(N, dtype=torch.bool)
    chosen = torch.empty(N, dtype=BF16)
    compare[(1,)](x, y, less, equal, chosen, N=N)
    assert torch.equal(less, x < y) and torch.equal(equal, x == y)
    assert torch.equal(chosen, torch.where((x < y) & (torch.arange(N) < 1000), x, y))


def check_conversions():
    values = torch.randn(N) * 100
    values[:6] = torch.tensor([float("nan"), float("inf"), -float("inf"), 3.4e38, 1e-40, -0.0])
    for source in (torch.float32, torch.float16, BF16, torch.float64, torch.int32, torch.int64):
        for target in (torch.float32, torch.float16, BF16, torch.float64, torch.int32):
            if BF16 not in (source, target):
                continue
            x = values if source.is_floating_point and target.is_floating_point else values.nan_to_num(0, 9, 9).clamp(-99, 99)
            x = x.to(source)
            out = torch.empty(N, dtype=target)
            convert[(1,)](x, out, N=N)
            want = x.to(target)
            assert torch.allclose(out.double(), want.double(), rtol=0, atol=0, equal_nan=True), (source, target)


def check_float8():
    float8 = torch.float8_e4m3fn
    values = torch.cat([torch.randn(N) * scale for scale in (1, 100, 0.01)])
    values[:10] = torch.tensor([0.0, -0.0, 448, 463, 1000, 2 ** -9, 2 ** -10, 3 * 2 ** -10, 1.0625, 1.1875])
    for source in (torch.float32, torch.float16, BF16):
        for x in values.to(source).split(N):
            out = torch.empty(N, dtype=float8)
            convert[(1,)](x, out, N=N)
            assert torch.equal(out.view(torch.uint8), x.float().clamp(-448, 448).to(float8).view(torch.uint8)), source
    patterns = torch.arange(N).to(torch.uint8).view(float8)
    for target in (torch.float32, torch.float16, BF16):
        out = torch.empty(N, dtype=target)
        convert[(1,)](patterns, out, N=N)
        assert torch.allclose(out.float(), patterns.float(), rtol=0, atol=0, equal_nan=True), target


def check_reductions():
    x = torch.randint(-8, 8, (256,)).to(BF16)
    total, high = torch.empty(1), torch.empty(1)
    reduce[(1,)](x, total, high, N=256)
    assert total.item() == x.float().sum().item() and high.item() == x.max().item()


def check_dot():
    x, y = torch.randint(-4, 4, (32, 32)).to(BF16), torch.randint(-4, 4, (32, 32)).to(BF16)
    out = torch.empty(32, 32)
    matmul[(1,)](x, y, out, T=32)
    assert torch.equal(out, x.float() @ y.float())


def check_shapes():
    for rows, columns in ((4, 8), (8, 4), (2, 16), (4, 8)):
        for dtype in (torch.float32, torch.int32):
            x = torch.arange(32).to(dtype).reshape(rows, columns)
            out = torch.empty(columns, rows, dtype=dtype)
            turned[(1,)](x, out, A=rows, B=columns)
            assert torch.equal(out, x.T * (columns * 100 + rows)), (rows, columns, dtype)


def check_calls():
    """The replacements of a launch also hold in the functions that it calls, and the next launch makes them again."""
    before = tl.load, tl.arange, tl.tensor.__add__, tl.tensor.__getitem__, tl.math.exp
    for start in (0.0, 5.0):
        x = torch.arange(64).float() + start
        out = torch.empty(64)
        calling[(2,)](x, out, N=32)
        assert torch.equal(out, x.reshape(2, 32).sum(1, keepdim=True).expand(2, 32).reshape(-1) * 4 + x)
        assert before == (tl.load, tl.arange, tl.tensor.__add__, tl.tensor.__getitem__, tl.math.exp)


@triton.jit
def scaled(x, out, factor, exact: tl.float64, other: "fp64", N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i)
    tl.store(out + i, a * factor)
    tl.store(out + N + i, a * exact)
    tl.store(out + 2 * N + i, a * other)


def check_float_arguments():
    """A number argument is a float32 unless the kernel declares another type, also for an integer; a half times it is a float32."""
    x, out = torch.ones(4, dtype=torch.float64), torch.empty(12, dtype=torch.float64)
    scaled[(1,)](x, out, 0.1, 0.1, other=0.1, N=4)
    assert out.tolist() == [float(torch.tensor(0.1))] * 4 + [0.1] * 8
    scaled[(1,)](x, out, 1e300, 1e300, 7, N=4)
    assert out.tolist() == [float("inf")] * 4 + [1e300] * 4 + [7.0] * 4
    x, out = torch.full((4,), 1.0 + 2**-10, dtype=torch.float16), torch.empty(12)
    scaled[(1,)](x, out, 1.0 + 2**-10, 1.0, 1.0, N=4)
    assert out[0].item() == (1 + 2**-10)**2


def check_names():
    for dtype, name in BLOCK_NAMES:
        assert [str(tl.block_type(dtype, [4, 8])) for _ in range(2)] == [name, name], name


def check_autotune():
    x = torch.randn(1000)
    out = torch.empty(1000)
    tuned[lambda meta: (triton.cdiv(1000, meta["BLOCK"]),)](x, out, 1000)
    assert torch.equal(out, x * 2)


def main():
    interpreter_fixes.apply()
    interpreter_speed.apply()
    torch.manual_seed(0)
    checks = [value for name, value in sorted(globals().items()) if name.startswith("check_")]
    failed = 0
    for number, check in enumerate(checks, 1):
        try:
            check()
            print("ok %d - %s" % (number, check.__name__))
        except Exception as error:
            failed += 1
            print("not ok %d - %s: %s: %s" % (number, check.__name__, type(error).__name__, error))
    print("1..%d" % len(checks))
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
