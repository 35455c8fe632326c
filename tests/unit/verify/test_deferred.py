#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""verify/python/runner/deferred.py and gpu_moves.py: calls on a GPU that are only recorded. No GPU: the record is a list."""

import json
import os
import pathlib
import socket
import struct
import sys
import threading
import types
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "verify" / "python" / "runner"))
sys.dont_write_bytecode = True
try:
    import torch
    import triton
except ImportError:
    other = os.environ.get("KGB_PYTHON") or str(ROOT / ".deps" / "venv" / "bin" / "python")
    if sys.executable == other or not os.access(other, os.X_OK):
        print("skipped: no Python with torch and triton; ./bootstrap setup installs one")
        sys.exit(1 if "torch" in os.environ.get("KGB_TESTS_MUST_RUN", "").split(",") else 77)
    os.execv(other, [other, "-I", *sys.argv])
import triton.language as tl  # noqa: E402
from triton.compiler.compiler import ASTSource, make_backend  # noqa: E402

import deferred  # noqa: E402
import gpu_moves  # noqa: E402
import launcher  # noqa: E402
import memory  # noqa: E402
import only_records  # noqa: E402
import remote  # noqa: E402
import ttir_image  # noqa: E402


@triton.jit
def scale(x, y, n, factor, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, factor * tl.load(x + at, mask=at < n), mask=at < n)


@triton.jit
def described(x, BLOCK: tl.constexpr):
    block = tl.make_tensor_descriptor(x, [64], [1], [BLOCK])
    block.store([0], block.load([0]))


class Tensor:
    def __init__(self, address):
        self.address = address


class Trace:
    def __init__(self):
        self.images, self.launches, self.moves, self.n_ops = [], [], [], 0

    def load(self, image):
        self.images.append(image)
        return len(self.images)

    def launch(self, *launch):
        self.launches.append(launch)

    def ops(self):
        self.n_ops += 1
        return self.n_ops

    def move(self, first, name, stream, params):
        self.moves.append((name, struct.unpack("<%dQ" % (len(params) // 8), params)))


def refuse_all(fd):
    """A judge that makes no IR, so that the front end works in this process."""
    with socket.socket(fileno=fd) as channel, channel.makefile("rwb", buffering=0) as stream:
        while True:
            head = stream.read(remote.QUESTION.size)
            if not head:
                return
            n_image, n_options, _ = remote.QUESTION.unpack(head)
            left = n_image + n_options
            while left > 0:
                left -= len(stream.read(left))
            stream.write(remote.ANSWER.pack(0, 0))


def setUpModule():
    ours, theirs = socket.socketpair()
    remote.use(ours.detach())
    threading.Thread(target=refuse_all, args=(theirs.detach(),), daemon=True).start()
    remote.install()
    launcher.address_of = lambda value, position: value.address


class Launches(unittest.TestCase):
    def setUp(self):
        self.trace = deferred.STATE.trace = Trace()
        self.compiled = []

    def compile_now(self):
        kernel = types.SimpleNamespace(n_regs=17, function=5, packed_metadata=(4,), ran=[])
        kernel._init_handles = lambda: None
        kernel.run = lambda *args: kernel.ran.append(args)
        self.compiled.append(kernel)
        return kernel

    def kernel(self, fn=scale, **options):
        types_ = {"x": "*fp32", "y": "*fp32", "n": "i32", "factor": "fp32", "BLOCK": "constexpr"}
        signature = {name: types_[name] for name in fn.arg_names}
        source = ASTSource(fn, signature, {(len(signature) - 1,): 64}, {})
        parsed = make_backend(ttir_image.TARGET).parse_options(options)
        return deferred.Deferred(source, ttir_image.TARGET, parsed, self.compile_now)

    def run_kernel(self, kernel, *values):
        kernel.run(3, 1, 1, 9, kernel.function, kernel.packed_metadata, None, None, None, *values)

    def test_a_launch_is_recorded_and_nothing_is_compiled(self):
        only_records.STATE.begin_call(True)
        kernel = self.kernel(num_warps=2)
        for n in (-1, 70000):
            self.run_kernel(kernel, Tensor(0x1000), Tensor(0x2000), n, 1.5, 64)
        self.assertEqual(self.compiled, [])
        self.assertEqual(len(self.trace.images), 1)
        claims = json.loads(self.trace.images[0].partition(b"\n")[0])
        self.assertEqual(claims["functions"][0]["names"], {"tl": {"module": "triton.language"}})
        number, name, grid, n_threads, stream, params = self.trace.launches[0]
        self.assertEqual((number, name, grid, n_threads, stream), (1, "scale", (3, 1, 1), 64, 9))
        bits = struct.unpack("<I", struct.pack("<f", 1.5))[0]
        self.assertEqual(struct.unpack("<4Q", params), (0x1000, 0x2000, 2 ** 64 - 1, bits))

    def test_an_empty_grid_launches_nothing(self):
        only_records.STATE.begin_call(True)
        kernel = self.kernel()
        kernel.run(0, 1, 1, 0, None, None, None, None, None, Tensor(0), Tensor(0), 1, 1.0, 64)
        self.assertEqual(self.trace.launches, [])
        with self.assertRaisesRegex(RuntimeError, "invalid argument"):
            kernel.run(-1, 1, 1, 0, None, None, None, None, None, Tensor(0), Tensor(0), 1, 1.0, 64)

    def test_a_call_with_launches_compiles_once(self):
        only_records.STATE.begin_call(False)
        kernel = self.kernel()
        for _ in range(2):
            self.run_kernel(kernel, 1, 2, 3, 4.0, 64)
        self.assertEqual(len(self.compiled), 1)
        self.assertEqual(self.compiled[0].ran, [(3, 1, 1, 9, 5, (4,), None, None, None, 1, 2, 3, 4.0, 64)] * 2)
        self.assertEqual(self.trace.launches, [])

    def test_only_attributes_of_machine_code_compile(self):
        kernel = self.kernel()
        self.assertFalse(hasattr(kernel, "result"))  # Triton asks whether a compilation is still under way
        self.assertEqual(self.compiled, [])
        self.assertEqual(kernel.n_regs, 17)
        self.assertEqual(len(self.compiled), 1)

    def test_what_a_plan_cannot_contain_needs_launches(self):
        for fn, options in ((described, {}), (scale, {"num_ctas": 2}), (scale, {"launch_cooperative_grid": True})):
            only_records.STATE.begin_call(True)
            kernel = self.kernel(fn, **options)
            with self.assertRaises(only_records.NeedsLaunches):
                self.run_kernel(kernel, *[Tensor(0)] * (len(fn.arg_names) - 1), 64)
            self.assertTrue(only_records.STATE.needs_launches)
            self.assertEqual(self.trace.launches, [])


class Moves(unittest.TestCase):
    """Fills and copies of tensors on the CPU, which count as tensors of a GPU here."""

    def setUp(self):
        self.trace = gpu_moves.STATE.trace = Trace()
        gpu_moves.on_gpu = lambda value: isinstance(value, torch.Tensor) and value.numel() > 0
        gpu_moves.present_stream = lambda: 0

    def moves(self, work):
        with gpu_moves.Watch():
            result = work()
        return result, self.trace.moves

    def assert_fill(self, work, bits):
        self.trace.moves.clear()
        result, moves = self.moves(work)
        self.assertEqual(moves, [("fill", (result.data_ptr(), memory.DTYPE_NUMBERS[result.dtype], bits, 0, result.dim(),
                                           *result.shape, *result.stride()))])

    def test_fills_have_the_bits_of_their_number(self):
        x = torch.empty(2, 3, dtype=torch.float16)
        for work, bits in ((lambda: torch.zeros(2, 3), 0), (lambda: torch.ones(4, dtype=torch.int64), 1),
                           (lambda: torch.full((2,), -1, dtype=torch.int16), 0xffff),
                           (lambda: torch.full((2,), fill_value=float("-inf")), 0xff800000),
                           (lambda: torch.ones_like(x), 0x3c00), (lambda: x.new_full((5,), 2), 0x4000),
                           (lambda: x.fill_(0.5), 0x3800), (lambda: x.zero_(), 0), (lambda: x.t().fill_(1), 0x3c00),
                           (lambda: torch.full((3,), True), 1)):
            self.assert_fill(work, bits)

    def test_copies_name_both_sides(self):
        x, y = torch.rand(3, 2).t(), torch.empty(2, 3, dtype=torch.bfloat16)
        for work in (lambda: y.copy_(x), lambda: x.to(torch.float64), lambda: x.contiguous(), lambda: x.clone()):
            self.trace.moves.clear()
            result, moves = self.moves(work)
            self.assertEqual(moves, [("copy", (result.data_ptr(), memory.DTYPE_NUMBERS[result.dtype], x.data_ptr(),
                                               memory.DTYPE_NUMBERS[x.dtype], 2, 2, 3, *result.stride(), 1, 2))])

    def test_a_copy_is_expanded(self):
        y = torch.empty(2, 3)
        _, moves = self.moves(lambda: y.copy_(torch.ones(3)))
        self.assertEqual(moves[-1][1][-2:], (0, 1))

    def test_other_operators_have_no_meaning(self):
        x = torch.rand(3)
        self.assertEqual(self.moves(lambda: (x + 1).view(3, 1).expand(3, 2))[1], [])


if __name__ == "__main__":
    unittest.main()
