#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""verify/python/runner/launcher.py: the arguments of a launch that the driver gets."""

import ctypes
import os
import pathlib
import struct
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "verify" / "python" / "runner"))
sys.dont_write_bytecode = True
try:
    import triton  # noqa: F401
except ImportError:
    other = os.environ.get("KGB_PYTHON") or str(ROOT / ".deps" / "venv" / "bin" / "python")
    if sys.executable == other or not os.access(other, os.X_OK):
        print("skipped: no Python with triton; ./bootstrap setup installs one")
        sys.exit(1 if "torch" in os.environ.get("KGB_TESTS_MUST_RUN", "").split(",") else 77)
    os.execv(other, [other, "-I", *sys.argv])
import launcher  # noqa: E402

META = (4, 1, 1024)


class Tensor:
    def __init__(self, address):
        self.address = address

    def data_ptr(self):
        return self.address


class Launches(unittest.TestCase):
    """Replaces the driver by a function that reads its arguments while they live."""

    def setUp(self):
        self.calls = []
        self.cpu_tensors = set()
        self.real, launcher.Cuda.call = launcher.Cuda.call, self.call

    def tearDown(self):
        launcher.Cuda.call = self.real

    def call(self, name, *args):
        if name == "cuPointerGetAttribute":
            address = args[2].value
            if address in self.cpu_tensors:
                return launcher.INVALID_VALUE
            ctypes.memmove(ctypes.addressof(args[0]._obj), struct.pack("<Q", address), 8)
            return 0
        if name == "cuLaunchKernelEx":
            config = args[0]._obj
            attributes = [(one.id, tuple(one.value[:3])) for one in config.attributes[:config.n_attributes]]
            raw = [ctypes.string_at(address, 8) for address in args[2]]
            self.calls.append((tuple(config.grid), tuple(config.block), config.shared_bytes, config.stream, attributes, raw))
        else:
            self.calls.append((name,))
        return 0

    def launch(self, types, values, meta=META, grid=(5, 6, 7), cooperative=False, programmatic=False, scratch=(None, None),
               hooks=(None, None)):
        launcher.make_launch(types)(*grid, 11, 22, cooperative, programmatic, *scratch, meta, "metadata", *hooks, *values)

    def test_every_type_is_packed_as_the_kernel_reads_it(self):
        rows = (
            ("*fp32", Tensor(0x1234567890), "<Q", 0x1234567890), ("*i8", None, "<Q", 0), ("*i8", 77, "<Q", 77),
            ("i1", True, "<b", 1), ("i8", -3, "<b", -3), ("i16", -300, "<h", -300), ("i32", -70000, "<i", -70000),
            ("i64", 1 << 40, "<q", 1 << 40), ("u8", 200, "<B", 200), ("u16", 60000, "<H", 60000),
            ("u32", 1 << 31, "<I", 1 << 31), ("u64", 1 << 63, "<Q", 1 << 63), ("fp64", 0.1, "<d", 0.1),
            ("fp32", 0.1, "<f", 0.1), ("f32", 1e300, "<f", float("inf")), ("fp32", 3, "<f", 3.0), ("fp16", 0.1, "<e", 0.1),
            ("bf16", 1.0, "<H", 0x3F80),
        )
        for type_, value, form, expected in rows:
            with self.subTest(type=type_, value=value):
                self.launch([type_], [value])
                want = struct.pack(form, expected)
                self.assertEqual(self.calls[-1][5][0][:len(want)], want)

    def test_what_does_not_fit_is_an_error(self):
        for type_, value in (("i32", 1 << 31), ("i8", 128), ("u32", -1), ("fp32", "1x"), ("i32", None)):
            with self.subTest(type=type_), self.assertRaises((struct.error, ValueError, TypeError)):
                self.launch([type_], [value])
        self.assertEqual(self.calls, [])

    def test_constants_are_left_out_tuples_flattened_scratch_comes_last(self):
        self.launch(["i32", "constexpr", ("i32", ("constexpr", "*fp32")), "i64"], [1, "any", (2, (None, 3)), 4],
                    scratch=(Tensor(0x5000), None))
        self.assertEqual([struct.unpack("<Q", raw)[0] for raw in self.calls[0][5]], [1, 2, 3, 4, 0x5000, 0])

    def test_grid_block_and_attributes(self):
        self.launch([], [], meta=(8, 2, 4096), cooperative=True, programmatic=True)
        grid, block, shared, stream, attributes, raw = self.calls[0]
        self.assertEqual((grid, block, shared, stream), ((10, 6, 7), (256, 1, 1), 4096, 11))
        self.assertEqual(attributes, [(6, (1, 0, 0)), (2, (1, 0, 0)), (4, (2, 1, 1)), (5, (1, 0, 0))])
        self.launch([], [])
        self.assertEqual(self.calls[1][4], [])

    def test_large_clusters_are_allowed_first(self):
        self.launch([], [], meta=(4, 16, 0))
        self.assertEqual([call[0] for call in self.calls], ["cuFuncSetAttribute", (80, 6, 7)])

    def test_an_empty_grid_launches_nothing_and_calls_the_hooks(self):
        seen = []
        self.launch(["i32"], [1], grid=(0, 1, 1), hooks=(seen.append, seen.append))
        self.assertEqual((self.calls, seen), ([], ["metadata", "metadata"]))

    def test_a_tensor_of_the_cpu_is_refused_by_position(self):
        self.cpu_tensors.add(0x7000)
        with self.assertRaisesRegex(ValueError, "at 1.*cpu tensor"):
            self.launch(["i32", "*fp32"], [1, Tensor(0x7000)])
        self.assertEqual(self.calls, [])

    def test_descriptors_are_expanded_as_triton_passes_them(self):
        signature = ["tensordesc<fp16[64,32]>", "i32", "tensordesc<fp16[8]>"]
        self.assertEqual(launcher.expand(signature, [{"swizzle": 1}, {"swizzle": 1}]),
                         ["descriptor", "i32", "i32", "i64", "i64", "i32", "descriptor", "i32", "i64"])
        self.assertEqual(launcher.expand(signature[2:], None), ["*fp16", "i64", "i64", "i1", "i32", "i64"])


if __name__ == "__main__":
    unittest.main()
