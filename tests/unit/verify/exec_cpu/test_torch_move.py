#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Fills and copies by kgb-exec-cpu give the bytes that torch gives: all pairs of types, strides, numbers at all edges."""

import ctypes
import os
import pathlib
import random
import sys
import unittest
import warnings

ROOT = pathlib.Path(__file__).resolve().parents[4]
sys.dont_write_bytecode = True
try:
    import torch
except ImportError:
    other = os.environ.get("KGB_PYTHON") or str(ROOT / ".deps" / "venv" / "bin" / "python")
    if sys.executable == other or not os.access(other, os.X_OK):
        print("skipped: no Python with torch; ./bootstrap setup installs one")
        sys.exit(1 if "torch" in os.environ.get("KGB_TESTS_MUST_RUN", "").split(",") else 77)
    os.execv(other, [other, "-I", *sys.argv])

warnings.simplefilter("ignore")  # complex numbers lose their imaginary part, as they shall
LIBRARY = ctypes.CDLL(sys.argv.pop())
POOL = 0x2acb00000000
DTYPES = [torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.bfloat16,
          torch.float32, torch.float64, torch.float8_e4m3fn, torch.complex64, torch.complex128]
EDGES = [0.0, -0.0, 0.25, 0.5, -0.5, 0.75, 1, 1.5, 2.5, 3.75, 0.1, 1 / 3, 126.9, 127.5, 128.5, 200, 254.9, 255.5, 256, 300, 447,
         448, 449, 463, 464, 465, 479, 480, 500, 32767.5, 32768.5, 65503, 65504, 65519, 65520, 65535, 65536, 70000,
         2 ** 24 + 1, 2 ** 31 - 1, 2 ** 31, 2 ** 31 + 0.5, 2 ** 31 + 1, 2 ** 32 - 1, 2 ** 32, 2 ** 32 + 5, 2 ** 53 + 1,
         2.0 ** 62, 2.0 ** 63, 2.0 ** 63 - 1024, 2.0 ** 64, 1e19, 1e30, 3.4e38, 3.5e38, 1e300, 1e-8, 6e-8, 5.9e-8, 1e-40,
         1e-45, 1e-310, 5e-324, 2.0 ** -9, 2.0 ** -10, 2.0 ** -10 * 1.0001, 2.0 ** -6, 1 + 2.0 ** -11,
         1 + 2.0 ** -11 + 2.0 ** -30, 1 + 3 * 2.0 ** -11, 1 + 2.0 ** -8, 1 + 2.0 ** -8 + 2.0 ** -40, 1 + 2.0 ** -24,
         1 + 2.0 ** -24 + 2.0 ** -50, float("inf"), float("nan")]
WHOLE_EDGES = [0, 1, 2, 3, 127, 128, 129, 255, 256, 257, 259, 449, 463, 464, 465, 480, 513, 2049, 2051, 4097, 32767, 32768, 65519,
               65520, 65535, 65536, 131073, 2 ** 24 + 1, 2 ** 24 + 3, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1, 2 ** 32, 2 ** 53 + 1,
               2 ** 53 + 3, 2 ** 62 + 1, 2 ** 63 - 1]


def draw(dtype, n, generator):
    """n random patterns of bits."""
    raw = torch.randint(0, 256, (n * dtype.itemsize,), generator=generator, dtype=torch.uint8)
    return (raw & 1 if dtype == torch.bool else raw).view(dtype)


def numbers(dtype):
    """Edges of all types, and random bits."""
    generator = torch.Generator().manual_seed(dtype.itemsize)
    if dtype == torch.bool:
        return draw(dtype, 64, generator)
    if not dtype.is_floating_point and not dtype.is_complex:
        limits = torch.iinfo(dtype)
        edges = [sign * x for x in WHOLE_EDGES for sign in (1, -1) if limits.min <= sign * x <= limits.max]
        return torch.cat([torch.tensor([limits.min, *edges], dtype=dtype), draw(dtype, 256, generator)])
    edges = torch.tensor([sign * x for x in EDGES for sign in (1, -1)], dtype=torch.float64)
    if dtype.is_complex:
        part = torch.float32 if dtype == torch.complex64 else torch.float64
        edges = torch.complex(torch.cat([edges, edges, 0 * edges]).to(part), torch.cat([edges.flip(0), 0 * edges, edges]).to(part))
        return torch.cat([edges, draw(dtype, 256, generator)])
    return torch.cat([edges.to(dtype), edges.float().to(dtype), draw(dtype, 256, generator)])


def side(memory, offset, dtype, strides):
    return [POOL + offset, DTYPES.index(dtype)], lambda sizes: torch.frombuffer(
        memory, dtype=dtype, offset=offset, count=1 + sum((size - 1) * step for size, step in zip(sizes, strides))
    ).as_strided(sizes, strides)


def move(kernel, words, memory):
    """The memory afterwards."""
    after = ctypes.create_string_buffer(bytes(memory), len(memory))
    message = ctypes.create_string_buffer(400)
    held = (ctypes.c_uint64 * len(words))(*(word & 2 ** 64 - 1 for word in words))
    if LIBRARY.torch_move(kernel.encode(), held, ctypes.c_size_t(len(words)), after, ctypes.c_size_t(len(memory)), message):
        raise ValueError(message.value.decode())
    return bytearray(after.raw)


def plain(tensor):
    """Bytes in which every NaN is the same one."""
    tensor = torch.cat([tensor.reshape(-1), tensor.new_empty(0)])  # a new one, element behind element
    for part in [tensor.real, tensor.imag] if tensor.is_complex() else [tensor]:
        if part.dtype == torch.float8_e4m3fn:
            part.view(torch.uint8)[part.float().isnan()] = 0x7f
        elif part.is_floating_point():
            part[part.isnan()] = float("nan")
    return tensor.view(torch.uint8).tolist()


class Moves(unittest.TestCase):
    def copy(self, dst, src, sizes, memory):
        """(offset, dtype, strides) twice; by torch and by us, in the same memory."""
        mine, theirs = bytearray(memory), bytearray(memory)
        dst_words, dst_view = side(theirs, *dst)
        src_words, src_view = side(theirs, *src)
        dst_view(sizes).copy_(src_view(sizes))
        mine = move("copy", [*dst_words, *src_words, len(sizes), *sizes, *dst[2], *src[2]], mine)
        view = side(mine, *dst)[1](sizes)
        # The differences that assertEqual would print take minutes to find.
        self.assertTrue(plain(view) == plain(dst_view(sizes)), "other elements than torch's")
        view.copy_(dst_view(sizes))  # NaN: one may be another
        self.assertTrue(mine == theirs, "something else was written")

    def test_every_type_becomes_every_other_as_in_torch(self):
        for source in DTYPES:
            x = numbers(source)
            n = x.numel()
            for target in DTYPES:
                memory = bytearray(x.view(torch.uint8).numpy().tobytes()) + bytearray(b"?" * (n * target.itemsize + 32))
                at = n * source.itemsize + 16
                with self.subTest(source=source, target=target):
                    self.copy((at - at % 16, target, (1,)), (0, source, (1,)), (n,), memory)

    def test_strides_of_any_kind(self):
        draws = random.Random(5)
        for _ in range(200):
            source, target = draws.choice(DTYPES), draws.choice(DTYPES)
            sizes = [draws.choice([1, 2, 3, 5, 17]) for _ in range(draws.randrange(5))]
            dst_strides, step = [0] * len(sizes), draws.choice([1, 1, 2])
            for i in draws.sample(range(len(sizes)), len(sizes)):
                dst_strides[i] = step
                step *= sizes[i] + draws.choice([0, 0, 1])
            src_strides = [draws.choice([0, 1, sizes[i], 3, 7]) for i in range(len(sizes))]
            reach = [1 + sum((size - 1) * step for size, step in zip(sizes, strides)) for strides in (dst_strides, src_strides)]
            dst_at = 16 * draws.randrange(3)
            src_at = -(-(dst_at + reach[0] * target.itemsize) // 16) * 16
            memory = bytearray(draw(torch.bool if torch.bool in (source, target) else torch.uint8,
                                    src_at + reach[1] * source.itemsize, None).view(torch.uint8).numpy().tobytes())
            with self.subTest(source=source, target=target, sizes=sizes, dst=dst_strides, src=src_strides):
                self.copy((dst_at, target, dst_strides), (src_at, source, src_strides), sizes, memory)

    def test_fills_of_any_type(self):
        for dtype in DTYPES:
            for sizes, strides in [((), ()), ((7,), (3,)), ((3, 5), (1, 4)), ((2, 3, 4), (12, 4, 1)), ((5,), (0,)), ((0, 3), (3, 1))]:
                memory = bytearray(b"?" * 1024)
                value = numbers(dtype)[-1:]
                raw = value.view(torch.uint8).numpy().tobytes().ljust(16, b"\0")
                words = [int.from_bytes(raw[:8], "little"), int.from_bytes(raw[8:], "little")]
                with self.subTest(dtype=dtype, sizes=sizes):
                    head = [POOL + 64, DTYPES.index(dtype), *words, len(sizes), *sizes, *strides]
                    mine = move("fill", head, memory)
                    if 0 not in sizes:
                        self.bits(side(memory, 64, dtype, strides)[1](sizes), value)
                    self.assertTrue(mine == memory, "other bytes than torch's")

    @staticmethod
    def bits(view, value):
        """As an integer where there is one, so that a NaN keeps its bits."""
        whole = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}.get(value.element_size(), value.dtype)
        view.view(whole).fill_(value.view(whole).item())

    def test_moves_that_reach_outside_are_refused(self):
        memory = bytearray(64)
        for words in ([POOL + 60, 8, 0, 0, 1, 2, 1], [POOL - 4, 8, 0, 0, 0], [0, 8, 0, 0, 0], [POOL, 8, 0, 0, 1, 17, 1]):
            with self.assertRaisesRegex(ValueError, "are not memory"):
                move("fill", words, memory)
        self.assertEqual(move("fill", [POOL, 8, 1, 0, 1, 16, 1], memory), bytearray(b"\1\0\0\0" * 16))


if __name__ == "__main__":
    unittest.main()
