#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A runner on the CPU that records (verify/python/runner/on_machine.py): what candidates do becomes the operations that the record
format has for it, and these make the results.

    test_cpu_records.py FOLDER      with _kgbrun.abi3.so and libkgb_cpu_trace.so
"""

import importlib.util
import inspect
import os
import pathlib
import pickle
import struct
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / path) for path in ("verify/python/runner", "verify/python/reference", "tests/helpers")]
sys.dont_write_bytecode = True
os.environ.pop("TRITON_INTERPRET", None)
os.environ.update(KGB_DEVICE="machine", OMP_NUM_THREADS="1", TRITON_DEFAULT_FP_FUSION="1")
try:
    import torch
    import triton  # noqa: F401
except ImportError:
    other = os.environ.get("KGB_PYTHON") or str(ROOT / ".deps" / "venv" / "bin" / "python")
    if sys.executable == other or not os.access(other, os.X_OK):
        print("skipped: no Python with torch and triton; ./bootstrap setup installs one")
        sys.exit(1 if "torch" in os.environ.get("KGB_TESTS_MUST_RUN", "").split(",") else 77)
    os.execv(other, [other, "-I", *sys.argv])

FOLDER = pathlib.Path(sys.argv.pop())
spec = importlib.util.spec_from_file_location("_kgbrun", FOLDER / "_kgbrun.abi3.so")
sys.modules["_kgbrun"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(sys.modules["_kgbrun"])
import cpu_trace  # noqa: E402

cpu_trace.PATH = str(FOLDER / "libkgb_cpu_trace.so")
import baseline  # noqa: E402
import memory  # noqa: E402
import move_words  # noqa: E402
import runner  # noqa: E402
import wire  # noqa: E402
from records import read_record  # noqa: E402

ARENA_BYTES = OUT_BYTES = 1 << 20
HEAD = "import torch\nimport triton\nimport triton.language as tl\n"
# Lines of the file count from the end of HEAD.
ADD = HEAD + """
@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    tl.store(out + i, tl.load(x + i, mask=mask) + tl.load(y + i, mask=mask), mask=mask)
"""


def allowed():
    """The operators of verify/policy/dispatch.yaml."""
    text = (ROOT / "verify/policy/dispatch.yaml").read_text().split("allow_by_data:")[0]
    return [line.strip()[2:] for line in text.splitlines() if line.strip().startswith("- ")]


class Candidate:
    """A kernel file in this process. Arguments of calls are tensors, which are copied to the arena."""

    def __init__(self, text, more_operators=(), optimized=False):
        self.runner = runner.Runner(text.encode(), tempfile.mkdtemp(dir=TMP.name))
        self.map()
        path = list(sys.path)
        try:
            self.loaded = self.ask("load", entries=["call"], allow=[*allowed(), *more_operators], optimized=optimized, rank=0,
                                   module="fast_ops7", folder="src/llm3")
        finally:
            sys.path[:] = path

    def map(self):
        self.arena, out, self.record = (os.memfd_create(name) for name in ("arena", "out", "record"))
        self.out = os.dup(out)
        os.truncate(self.arena, ARENA_BYTES)
        os.truncate(out, OUT_BYTES)
        self.ask("map", [os.dup(self.arena), out], arena_bytes=ARENA_BYTES, out_bytes=OUT_BYTES)

    def ask(self, op, fds=(), **request):
        reply = self.runner.handle({"op": op, **request}, list(fds))
        if reply.status != wire.OK:
            raise AssertionError("%s: %s" % (op, reply.text))
        return reply

    @property
    def module(self):
        return self.runner.kernel.module

    def call(self, *tensors, entry="call", gradient=0, **style):
        """The reply; self.window and self.images have its work."""
        described, at = [], 4096
        for tensor in tensors:
            data = bytes(tensor.contiguous().view(torch.uint8).numpy()) if tensor.numel() else b""
            os.pwrite(self.arena, data, at)
            described.append({"kind": "tensor", "at": at, "dtype": memory.DTYPE_NUMBERS[tensor.dtype],
                              "elements": tensor.numel(), "sizes": list(tensor.shape),
                              "strides": list(tensor.contiguous().stride()), "first": 0, "gradient": gradient})
            at += -(-len(data) // 4096) * 4096 + 4096
        self.ask("record", [os.dup(self.record)], max_bytes=16 << 20)
        self.before = os.pread(self.arena, ARENA_BYTES, 0)
        reply = self.runner.handle(
            {"op": "call", "entry": entry, "args": described, "poison": 90, "fill": 0xa5, "seed": 1, "keep": 1,
             "window": 1, "parts": [], "take": True, "tune": False, "only_records": False, "tuples": False,
             "parameters": False, "grad": 0, "default_type": 0, "caller": runner.PYTHON, **style}, [])
        windows, self.images = read_record(os.pread(self.record, 16 << 20, 0))
        self.window = windows[1]
        return reply

    def results(self, reply):
        found = []
        for output in reply.outputs:
            data = bytearray(os.pread(self.out, output.n_bytes, output.offset))
            dtype = memory.TORCH_DTYPES[output.dtype]
            found.append(memory.SHARED(data, dtype=dtype).reshape(output.sizes) if data else torch.empty(output.sizes, dtype=dtype))
        return found

    def ops(self):
        return [op.fields.get("kernel", op.kind) if op.kind == "launch" else op.kind for op in self.window.ops]


class Baseline(Candidate):
    """The worker that calls the baseline, with a file of reference functions."""

    def __init__(self, text):
        self.runner = baseline.Baseline(compiled=False)
        self.map()
        source = os.memfd_create("source")
        os.write(source, text.encode())
        self.ask("load", [source], file="ours.py")


class Replay:
    """Moves of a window, made once more in memory that holds other poison."""

    def __init__(self, candidate):
        self.memory = {memory.ARENA_ADDRESS: bytearray(candidate.before)}
        for address, n_bytes, _, _ in candidate.window.blocks:
            old = self.memory.get(address, b"")
            self.memory[address] = bytearray(b"\x3c" * max(n_bytes, len(old)))
        for op in candidate.window.ops:
            getattr(self, op.kind)(op.fields)

    def place(self, address):
        return next((data, address - start) for start, data in self.memory.items() if start <= address < start + len(data))

    def tensor(self, address, dtype, sizes, strides):
        data, offset = self.place(address)
        dtype = memory.TORCH_DTYPES[dtype]
        n = memory.reach_of(sizes, strides)
        return torch.as_strided(memory.SHARED(data, dtype=dtype, count=n, offset=offset), sizes, strides)

    def upload(self, fields):
        data, offset = self.place(fields["dst"])
        data[offset:offset + fields["bytes"]] = fields["data"]

    def launch(self, fields):
        words = struct.unpack("<%dQ" % (len(fields["params"]) // 8), fields["params"])
        if fields["kernel"] == "fill":
            address, dtype, low, high, n, *rest = words
            one = memory.SHARED(bytearray(struct.pack("<2Q", low, high)), dtype=memory.TORCH_DTYPES[dtype])[0]
            self.tensor(address, dtype, rest[:n], rest[n:]).copy_(one)
        else:
            address, dtype, source, source_dtype, n, *rest = words
            target = self.tensor(address, dtype, rest[:n], rest[n:2 * n])
            target.copy_(self.tensor(source, source_dtype, rest[:n], rest[2 * n:]))

    def result(self, output):
        address = output.address + (memory.ARENA_ADDRESS if output.where == wire.ARENA else 0)
        return self.tensor(address, output.dtype, output.sizes, output.strides)


X = torch.arange(24, dtype=torch.float32).reshape(4, 6)
# Body of call(x), and its operations.
MOVES = {
    "return torch.empty_like(x).fill_(2)": ["fill"],
    "return torch.zeros(3, 5, dtype=torch.int16, device=x.device)": ["fill"],
    "return torch.full((2, 3), -1.5, dtype=torch.bfloat16, device=x.device), x.new_ones(4), torch.zeros_like(x)": ["fill"] * 3,
    "return torch.full((3,), 1 + 2j, device=x.device), torch.full((3,), float('nan'), device=x.device), "
    "torch.ones(2, dtype=torch.bool, device=x.device)": ["fill"] * 3,
    "return x.clone()": ["copy"],
    "return x.t().contiguous()": ["copy"],
    "return x.to(torch.float64), x.half(), x.long(), x.bool()": ["copy"] * 4,
    "return x.contiguous(), x.view(24), x[1:].t(), x.expand(2, 4, 6), x.unsqueeze(0)": [],
    "y = torch.zeros(4, 6, device=x.device)\n    y[1:, ::2] = x[:3, 3:]\n    return y": ["fill", "copy"],
    "y = torch.empty(2, 4, 6, dtype=torch.float64, device=x.device)\n    y.copy_(x)\n    return y": ["copy"],
    "y = torch.empty_like(x)\n    y[:] = 7\n    y[0] = x[1, 1]\n    return y": ["fill", "copy", "copy"],
    "x[:, 1].zero_()\n    return x": ["fill"],
    "y = torch.empty(3, device=x.device)\n    return y.fill_(torch.tensor(2.5, device=x.device))": ["fill", "copy"],
    "return torch.tensor([1, 2, 3], device=x.device), torch.arange(5, dtype=torch.int32, device=x.device), "
    "torch.tensor(3, device=x.device)": ["upload", "upload", "fill"],
    "return torch.tensor([[1., 2.]], device=x.device).to(torch.float16)": ["upload", "copy"],
    "y = torch.empty(0, device=x.device)\n    y.resize_(2, 3)\n    y.fill_(1)\n    z = x.clone()\n    z.resize_(50)\n    z[24:] = 1\n"
    "    return y, z": ["fill", "copy", "copy", "fill", "copy"],
    "return x.reshape(6, 4), x.reshape(2, 2, 6).permute(2, 0, 1).reshape(-1)": ["copy"],
}
READS = ["x[0, 0].item()", "x.tolist()", "x.numpy()", "bool(x[0, 1])", "int(x[1, 1])", "str(x)", "x[1].tolist()"]


class Moves(unittest.TestCase):
    def test_fills_copies_and_uploads_make_the_results_from_other_poison(self):
        for body, ops in MOVES.items():
            with self.subTest(body=body):
                candidate = Candidate(HEAD + "def call(x):\n    " + body + "\n")
                reply = candidate.call(X)
                self.assertEqual((reply.text, reply.ops), ("", []))
                self.assertEqual(candidate.ops(), ops)
                replay = Replay(candidate)
                for output, result in zip(reply.outputs, candidate.results(reply), strict=True):
                    again = replay.result(output)
                    self.assertTrue(torch.equal(again.reshape(-1).view(torch.uint8) if again.dim() else again,
                                                result.reshape(-1).view(torch.uint8) if again.dim() else result))

    def test_types_without_a_number_move_as_their_bits_or_not_at_all(self):
        candidate = Candidate(HEAD + """
def call(x):
    y = torch.empty(3, dtype=torch.uint16, device=x.device).fill_(9)
    y.clone()
    return y.view(torch.int16)
def convert(x):
    torch.empty(3, dtype=torch.uint16, device=x.device).fill_(9).to(torch.int32)
""")
        reply = candidate.call(X)
        self.assertEqual(candidate.ops(), ["fill", "copy"])
        self.assertEqual(Replay(candidate).result(reply.outputs[0]).tolist(), [9, 9, 9])
        candidate.call(X, entry="convert")
        self.assertEqual(candidate.ops(), ["fill", "unsupported"])

    def test_reads_by_the_host_are_downloads(self):
        for expression in READS:
            with self.subTest(expression=expression):
                candidate = Candidate(HEAD + "def call(x):\n    %s\n" % expression)
                reply = candidate.call(X)
                self.assertEqual((reply.status, reply.ops), (wire.OK, []))
                self.assertEqual(candidate.ops(), ["download"])
        self.assertEqual(candidate.window.ops[0].fields, {"src": memory.ARENA_ADDRESS + 4096 + 24, "bytes": 24})

    def test_operators_that_compute_are_named_and_cannot_be_replayed(self):
        candidate = Candidate(HEAD + "def call(x):\n    return (x + 1).clone(), torch.sort(x)\n")
        candidate.call(X)
        candidate = Candidate(HEAD + "def call(x):\n    return (x + 1).clone()\n")
        reply = candidate.call(X)
        self.assertEqual(reply.ops, ["aten::add.Tensor"])
        self.assertEqual(candidate.ops(), ["unsupported", "copy"])
        self.assertEqual(candidate.window.ops[0].fields["why"], "torch: aten::add.Tensor")
        self.assertGreaterEqual(candidate.window.ops[1].fields["params"][16:24], struct.pack("<Q", 0))

    def test_what_a_view_makes_elsewhere_cannot_be_replayed(self):
        candidate = Candidate(HEAD + "def call(x):\n    return x[1:], x.flip(0)\n", ["aten::flip"])
        reply = candidate.call(X)
        self.assertEqual((reply.text, reply.ops), ("", []))
        self.assertEqual(candidate.window.why(), ["torch: aten::flip"])

    def test_work_at_import_is_noted(self):
        candidate = Candidate(HEAD + "ONE = torch.zeros(3) + 1\ndef call(x):\n    return x.clone()\n")
        self.assertEqual(candidate.loaded.ops, ["aten::add.Tensor"])
        self.assertEqual(candidate.call(X).ops, [])

    def test_memory_of_others_is_uploaded_if_it_is_whole(self):
        candidate = Candidate(HEAD + """
def call(x):
    with torch.utils._python_dispatch._disable_current_modes():
        other = torch.arange(2.0)
    x[0, :2] = other
    x[1, ::3] = other
    return x
""")
        candidate.call(X)
        self.assertEqual(candidate.ops(), ["upload", "unsupported"])
        self.assertEqual(candidate.window.ops[0].fields, {
            "dst": memory.ARENA_ADDRESS + 4096, "bytes": 8, "data": struct.pack("<2f", 0, 1)})
        self.assertEqual(candidate.window.why(), ["upload to a tensor with gaps"])

    def test_tensors_that_no_move_can_describe(self):
        odd = {"lazy bits": torch.ones(2, dtype=torch.complex64).conj(), "9 dimensions": torch.ones((1,) * 9),
               "sparse": torch.ones(2).to_sparse(), "on meta": torch.ones(2, device="meta")}
        for why, tensor in odd.items():
            self.assertIn(why, move_words.reason("copy", tensor))
        self.assertIsNone(move_words.reason("copy", X.t()))

    def test_fresh_memory_holds_poison(self):
        candidate = Candidate(HEAD + "def call(x):\n    return torch.empty(4, dtype=torch.uint8, device=x.device)\n")
        self.assertEqual(candidate.results(candidate.call(X))[0].tolist(), [0xa5] * 4)

    def test_a_tensor_that_comes_again_is_the_same_object(self):
        candidate = Candidate(HEAD + "SEEN = []\ndef call(*tensors):\n    SEEN.append(tensors)\n")
        for tensors in ((X,), (2 * X,), (X.flatten(),), (X.flatten(), X), (X, X)):
            candidate.call(*tensors)
        seen = candidate.module.SEEN
        self.assertIs(seen[0][0], seen[1][0])
        self.assertIs(seen[2][0], seen[3][0])
        self.assertIsNot(seen[4][0], seen[4][1])
        seen[4][0].t_()
        candidate.call(X, X)
        self.assertEqual(seen[5][0].shape, X.shape)
        self.assertIs(seen[4][1], seen[5][1])

    def test_a_caller_chooses_the_mode_of_gradients_parameters_and_tuples(self):
        candidate = Candidate(HEAD + "SEEN = []\ndef call(x):\n"
                              "    SEEN.append((torch.is_grad_enabled(), torch.is_inference_mode_enabled(), type(x)))\n    return x\n")
        for grad, parameters in ((0, False), (1, False), (2, False), (0, True)):
            reply = candidate.call(X, grad=grad, parameters=parameters)
            self.assertEqual((reply.text, reply.outputs[0].kind), ("", wire.TENSOR))
        self.assertEqual(candidate.module.SEEN, [(True, False, torch.Tensor), (False, False, torch.Tensor),
                                                        (False, True, torch.Tensor), (True, False, torch.nn.Parameter)])
        described = [{"value": [1, 2]}, {"value": 3, "list": "xs"}, {"value": 4, "list": "xs"}, {"value": [], "name": "dim"}]
        for sequence in (list, tuple):
            self.assertEqual(wire.call_arguments(described, lambda arg: arg["value"], sequence),
                             ([sequence([1, 2]), sequence([3, 4])], {"dim": sequence()}))

    def test_a_caller_chooses_the_default_type(self):
        candidate = Candidate(HEAD + "SEEN = []\ndef call(x):\n    SEEN.append(torch.get_default_dtype())\n    return x\n")
        dtypes = [torch.float32, torch.float16, torch.bfloat16, torch.float64]
        for number in range(len(dtypes)):
            candidate.call(X, default_type=number)
            self.assertEqual(torch.get_default_dtype(), torch.float32)
        self.assertEqual(candidate.module.SEEN, dtypes)

    def test_torch_answers_a_kernel_that_asks_for_its_caller(self):
        candidate = Candidate(HEAD + "from torch.jit import is_tracing\nSEEN = []\ndef call(x):\n"
                              "    SEEN.append((torch.compiler.is_compiling(), torch.compiler.is_dynamo_compiling(), is_tracing(),\n"
                              "                 torch.jit.is_scripting()))\n"
                              "    torch.broadcast_shapes((1,), (2, 1))\n    return x\n")
        for caller in (runner.PYTHON, runner.COMPILED, runner.EXPORTED, runner.TRACED):
            reply = candidate.call(X, caller=caller)
            self.assertEqual((reply.text, candidate.runner.caller), ("", runner.PYTHON))
        self.assertEqual(candidate.module.SEEN, [(False, False, False, False), (True, True, False, False),
                                                 (True, False, False, False), (False, False, True, False)])

    def test_only_the_kernel_is_told_a_caller(self):
        candidate = Candidate(HEAD + "def asks(question):\n    return question()\ndef call(x):\n    return x\n")
        candidate.runner.caller = runner.COMPILED
        self.assertFalse(torch.compiler.is_compiling())
        self.assertTrue(candidate.module.asks(torch.compiler.is_compiling))
        dynamo = {"__name__": "torch._dynamo.external_utils", "torch": torch}
        exec("def is_compiling():\n    return torch.compiler.is_compiling()", dynamo)
        self.assertFalse(dynamo["is_compiling"]())
        self.assertTrue(candidate.module.asks(dynamo["is_compiling"]))

    def test_a_kernel_may_be_compiled_without_asserts_and_docstrings(self):
        text = HEAD + "def call(x):\n    'text'\n    assert x is None\n    return x\n"
        for optimized, doc, error in ((True, None, ""), (False, "text", "AssertionError")):
            candidate = Candidate(text, optimized=optimized)
            self.assertEqual(candidate.module.call.__doc__, doc)
            self.assertEqual(candidate.call(X).text[:14], error)

    def test_a_kernel_is_a_module_of_a_user(self):
        candidate = Candidate(HEAD + "import sys\nPATH, ARGV = list(sys.path), list(sys.argv)\ndef call(x):\n    return x.nothing\n")
        module, folder = candidate.module, os.path.join(candidate.runner.kernel.place, "src/llm3")
        self.assertEqual((module.__name__, module.__file__), ("fast_ops7", os.path.join(folder, "fast_ops7.py")))
        self.assertIs(sys.modules["fast_ops7"], module)
        self.assertIs(pickle.loads(pickle.dumps(module.call)), module.call)
        self.assertIn("x.nothing", inspect.getsource(module.call))
        self.assertEqual((module.PATH[0], module.ARGV), (folder, [""]))
        self.assertFalse([path for path in module.PATH if path.startswith(runner.JUDGE)])
        self.assertEqual(candidate.runner.kernel.in_words_of_the_user("%s: fast_ops7.X" % module.__file__), "kernel.py: kernel.X")
        self.assertEqual(candidate.call(X).line, HEAD.count("\n") + 4)

    def test_a_module_under_any_name_gives_the_same_ir(self):
        text = HEAD + """
@triton.jit
def twice(x):
    return x + x

@triton.jit
def k(x):
    tl.store(x, twice(tl.load(x)))

def call(x):
    k[(1,)](x)
"""
        candidate = Candidate(text)
        self.assertEqual(candidate.call(X).text, "")
        image = next(iter(candidate.images.values()))
        self.assertIn(b"@kernel.twice__", image)
        self.assertNotIn(b"fast_ops7", image)

    def test_torch_computes_gradients_of_arguments(self):
        candidate = Candidate(HEAD + "SEEN = []\ndef call(x):\n    SEEN.append((x.requires_grad, x.is_leaf, type(x), x.stride()))\n"
                              "    return x, x.contiguous().clone()\n")
        for gradient, parameters in ((0, False), (1, False), (1, True), (2, True)):
            reply = candidate.call(X, gradient=gradient, parameters=parameters)
            self.assertEqual([output.kind for output in reply.outputs], [wire.TENSOR] * 2)
            self.assertTrue(torch.equal(candidate.results(reply)[1], X))
        self.assertEqual(candidate.module.SEEN, [(False, True, torch.Tensor, X.stride()), (True, True, torch.Tensor, X.stride()),
                                                 (True, True, torch.nn.Parameter, X.stride()),
                                                 (True, False, torch.Tensor, X.stride())])

    def test_storages_look_like_those_of_torch(self):
        candidate = Candidate(HEAD + "SEEN = []\ndef call(x):\n    SEEN.append(x.untyped_storage().resizable())\n    return x\n")
        candidate.call(X)
        self.assertEqual(candidate.module.SEEN, [True])

    def test_a_result_in_an_argument_is_told_from_a_new_one(self):
        candidate = Candidate(HEAD + "def call(x):\n    return x[1:], torch.empty(2, device=x.device)\n")
        here, there = candidate.call(X).outputs
        self.assertEqual((here.where, here.address), (wire.ARENA, 4096 + 24))
        self.assertEqual(there.where, wire.FRESH)
        self.assertIn(there.address, [block[0] for block in candidate.window.blocks])

    def test_memory_lives_as_long_as_its_tensors(self):
        candidate = Candidate(HEAD + """
kept = []
def call(x):
    for _ in range(3):
        y = torch.empty(1000, device=x.device)
        del y
    view = torch.empty(100, device=x.device).view(10, 10)[3:]
    kept.append(view)
    return torch.empty(500, device=x.device)
""")
        candidate.call(X)
        # A call does not get again what it frees.
        self.assertEqual(len({block[0] for block in candidate.window.blocks if not block[3]}), 5)
        candidate.call(X)
        before = {block[1] for block in candidate.window.blocks if block[3]}
        # The view keeps the storage; the runner keeps the last result.
        self.assertLessEqual({400, 2000}, before)
        self.assertNotIn(4000, before)


KERNELS = HEAD + """
import math
FACTOR = tl.constexpr(3)

@triton.jit
def scaled(v, FACTOR: tl.constexpr):
    return v * FACTOR

@triton.constexpr_function
def half(n):
    return n // 2

@triton.autotune([triton.Config({"BLOCK": 8}, num_warps=2), triton.Config({"BLOCK": 16})], key=["n"])
@triton.heuristics({"EVEN": lambda args: args["n"] % 8 == 0})
@triton.jit
def tuned(x, out, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if EVEN:
        v = tl.load(x + i, mask=i < n)
    else:
        v = tl.load(x + i, mask=i < n, other=0)
    tl.store(out + i, scaled(v, FACTOR) + half(BLOCK) - half(BLOCK), mask=i < n)

def call(x):
    out = torch.empty_like(x)
    tuned[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, out, x.numel())
    return out

@triton.jit
def mixed(pair, flag, small, big, f, h, d, out):
    tl.store(out, pair[0] + small + tl.where(flag, 1, 0))
    tl.store(out + 1, tl.load(pair[1]) + f + h)
    tl.store(out + 2, (big >> 32).to(tl.float32))
    d.store([0, 0], d.load([0, 0]) * 2)

def many(x, padding="zero"):
    from triton.tools.tensor_descriptor import TensorDescriptor
    out, y = torch.zeros(3, device=x.device), torch.ones(8, 16, device=x.device)
    mixed[(1, 1, 1)]((5, x), True, -7, 1 << 40, 0.5, 0.25, TensorDescriptor(y, [8, 16], [16, 1], [8, 16], padding), out, num_warps=8)
    return out, y

@triton.jit
def numbers(out, factor, exact: tl.float64, other: "fp64", half, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.zeros((N,), tl.float64) + factor)
    tl.store(out + N + i, tl.zeros((N,), tl.float64) + exact)
    tl.store(out + 2 * N + i, tl.zeros((N,), tl.float64) + other)
    tl.store(out + 3 * N + i, (tl.zeros((N,), tl.float16) + half) * half)

def typed(x):
    out = torch.zeros(4, 2, dtype=torch.float64, device=x.device)
    numbers[(1,)](out, 0.1, 0.1, 7, 1 + 2**-10, N=2)
    return out

def padded(x):
    many(x, "nan")

def idioms(x):
    target = triton.runtime.driver.active.get_current_target()
    facts = [target.arch, torch.cuda.get_device_properties(x.device).multi_processor_count,
             torch.cuda.get_device_capability()[0], triton.runtime.driver.active.utils.get_device_properties(0)["max_shared_mem"]]
    with torch.cuda.device(x.device):
        kernel = tuned.fn.fn.warmup(x, x, 24, BLOCK=16, EVEN=True, grid=(1,))
        kernel._init_handles()
        facts += [kernel.n_regs, kernel.metadata.num_warps, kernel.metadata.shared]
    out = torch.empty_like(x)
    compiled = tuned.fn.fn.run(x, out, 24, BLOCK=32, EVEN=True, grid=(1,), warmup=False)
    compiled[(1, 1, 1)](x, out, 24, 32, True)
    return out, torch.tensor(facts, device=x.device)

def wrong(x):
    out = torch.empty(3, device=x.device)
    tuned.fn.fn[(1,)](x, out, 4, BLOCK=8, EVEN=True)
    return out

def caught(x):
    try:
        wrong(x)
    except Exception:
        pass
    return torch.empty(3, device=x.device)

def foreign(x):
    with torch.utils._python_dispatch._disable_current_modes():
        y = torch.empty(4)
    tuned.fn.fn[(1,)](x, y, 4, BLOCK=8, EVEN=True)

@triton.jit
def refused(x):
    tl.store(x, undefined)

def compile_error(x):
    refused[(1,)](x)

@triton.jit
def described(x, out):
    source = tl.make_tensor_descriptor(x, shape=[24], strides=[1], block_shape=[32])
    tl.make_tensor_descriptor(out, shape=[24], strides=[1], block_shape=[32]).store([0], source.load([0]))

def copied(x):
    out = torch.empty_like(x)
    described[(1, 1, 3)](x, out)
    return out

def copied_with_scratch(x):
    triton.set_allocator(lambda n_bytes, alignment, stream: torch.empty(n_bytes, dtype=torch.int8, device="cuda"))
    return copied(x)

def nothing(x):
    tuned.fn.fn[(0,)](x, x, 4, BLOCK=8, EVEN=True)

@triton.jit
def odd(x):
    tl.store(x, tl.inline_asm_elementwise("vote.sync.all.pred $0, $1, -1;", "=r,r", [tl.load(x).to(tl.int32)], tl.int32, True, 1).to(tl.float32))

def unknown(x):
    odd[(1,)](x)
"""


# Body of call(x); the operations of a call that ends well, else what its error says. `add` of ADD is there.
DEVICES = {
    "y = torch.empty(24)\n    add[(1,)](x, x, y, 24, BLOCK=32)": "Pointer argument (at 2) cannot be accessed from Triton (cpu tensor?); "
    "make it on the device of an argument: device=x.device",
    "add[(1,)](x, torch.tensor(2.0), x, 1, BLOCK=32)": "Pointer argument (at 1)",
    "add[(1,)](x, x, torch.zeros_like(torch.arange(24.0)), 24, BLOCK=32)": "Pointer argument (at 2)",
    "add[(1,)](x, x, torch.zeros(24).double().view(4, 6).clone(), 24, BLOCK=32)": "Pointer argument (at 2)",
    "add[(1,)](x, x, torch.empty(0), 0, BLOCK=32)": ["add"],
    "y = torch.empty(24).to(x.device)\n    add[(1,)](x, x, y, 24, BLOCK=32)": ["upload", "add"],
    "y = torch.tensor([2.0]).to(x)\n    add[(1,)](y, y, y, 1, BLOCK=32)": ["fill", "add"],
    "y = torch.as_tensor(torch.arange(24.0), device=x.device)\n    add[(1,)](x, y, y, 24, BLOCK=32)": ["upload", "add"],
    "y = torch.arange(24.0).new_zeros(24, device=x.device)\n    add[(1,)](x, x, y, 24, BLOCK=32)": ["upload", "add"],
    "y = torch.arange(4.0).expand(6, 4).to(device=x.device)\n    add[(1,)](x, x, y, 24, BLOCK=32)": ["upload", "add"],
    "with x.device:\n        y = torch.empty(24)\n    add[(1,)](x, x, y, 24, BLOCK=32)": ["add"],
    "x.copy_(torch.ones(4, 6)), x.copy_(torch.tensor(3.0)), x.fill_(torch.tensor(2.0))": ["upload", "fill", "fill"],
    "y = torch.empty(4, 6).copy_(x)": ["download"],
    "torch.tensor([1.0, 2.0]).tolist(), torch.tensor(3).item()": [],
    "y = torch.empty(3)\n    y.resize_(24)\n    add[(1,)](x, x, y, 24, BLOCK=32)": "Pointer argument (at 2)",
    "add[(1,)](x, x[:0].new_zeros(24), x.new_empty(24), 24, BLOCK=32)": ["fill", "add"],
}


class Devices(unittest.TestCase):
    def test_memory_without_a_device_is_the_hosts_until_it_is_sent(self):
        for body, told in DEVICES.items():
            with self.subTest(body=body):
                candidate = Candidate(ADD + "\ndef call(x):\n    %s\n" % body)
                reply = candidate.call(X)
                if isinstance(told, str):
                    self.assertEqual(reply.status, wire.EXCEPTION)
                    self.assertIn(told, reply.text)
                else:
                    self.assertEqual((reply.text, candidate.ops()), ("", told))

    def test_a_result_on_the_host_is_no_tensor_of_the_device(self):
        for made, kind in (("torch.empty(3)", wire.OTHER), ("torch.empty(0)", wire.TENSOR), ("x.new_empty(3)", wire.TENSOR)):
            output, = Candidate(HEAD + "def call(x):\n    return %s\n" % made).call(X).outputs
            self.assertEqual(output.kind, kind, made)
            self.assertTrue(kind == wire.TENSOR or "on the host" in output.type_name, output.type_name)

    def test_a_default_device_is_a_device(self):
        candidate = Candidate(ADD + "\ndef call(x):\n    torch.set_default_device(x.device)\n    y = torch.empty(24)\n"
                              "    torch.set_default_device(None)\n    add[(1,)](x, x, y, 24, BLOCK=32)\n    return y\n")
        reply = candidate.call(X)
        self.assertEqual((reply.text, candidate.ops()), ("", ["add"]))
        self.assertTrue(torch.equal(candidate.results(reply)[0], 2 * X.reshape(-1)))


class Launches(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.candidate = Candidate(KERNELS)

    def test_a_tuned_kernel_launches_each_configuration_in_its_first_call(self):
        candidate = Candidate(KERNELS)
        for n_launches in (3, 1):
            reply = candidate.call(X)
            self.assertEqual((reply.text, reply.launches), ("", {"tuned": n_launches}))
            self.assertTrue(torch.equal(candidate.results(reply)[0], 3 * X))
            self.assertEqual(candidate.ops(), ["tuned"] * n_launches)
        fields = candidate.window.ops[0].fields
        self.assertIn((fields["grid"], fields["block"]), [((3, 1, 1), (64, 1, 1)), ((2, 1, 1), (128, 1, 1))])
        self.assertEqual((fields["shared"], fields["carveout"], fields["attrs"]), (0, -1, []))
        self.assertEqual(struct.unpack("<3Q", fields["params"])[::2], (memory.ARENA_ADDRESS + 4096, 24))
        line, _, text = candidate.images[fields["image"]].partition(b"\n")
        self.assertTrue(line.startswith(b'{"kgb_ttir":1,') and text.startswith(b"#loc") and b"tt.func public @tuned(" in text)

    def test_arguments_of_all_kinds_are_words(self):
        reply = self.candidate.call(X, entry="many")
        self.assertEqual(reply.text, "")
        out, y = self.candidate.results(reply)
        self.assertEqual(out.tolist(), [-1, 0.75, 256])
        self.assertEqual(y.unique().tolist(), [2])
        fields = self.candidate.window.ops[2].fields
        self.assertEqual(fields["block"], (256, 1, 1))
        words = struct.unpack("<%dQ" % (len(fields["params"]) // 8), fields["params"])
        single = struct.unpack("<2I", struct.pack("<2f", 0.5, 0.25))
        self.assertEqual(words[:8], (5, memory.ARENA_ADDRESS + 4096, 1, 2**64 - 7, 1 << 40, *single, reply.outputs[1].address))
        self.assertEqual(words[8:], (8, 16, 16, 1, reply.outputs[0].address))

    def test_a_number_is_a_float32_unless_the_kernel_declares_another_type(self):
        reply = self.candidate.call(X, entry="typed")
        self.assertEqual(reply.text, "")
        self.assertEqual(self.candidate.results(reply)[0][:, 0].tolist(), [torch.tensor(0.1).item(), 0.1, 7, (1 + 2**-10) ** 2])
        words = struct.unpack("<5Q", self.candidate.window.ops[1].fields["params"])
        self.assertEqual(struct.unpack("<2d", struct.pack("<2Q", *words[2:4])), (0.1, 7))

    def test_a_descriptor_that_pads_with_nan_cannot_be_replayed(self):
        self.candidate.call(X, entry="padded")
        self.assertEqual(self.candidate.window.why(), ["a tensor descriptor that pads with NaN or rounds"])

    def test_descriptors_that_a_kernel_makes_need_an_allocator(self):
        self.assertIn("no allocator was set. Use triton.set_allocator", self.candidate.call(X, entry="copied").text)
        reply = self.candidate.call(X, entry="copied_with_scratch")
        self.assertEqual(reply.text, "")
        self.assertTrue(torch.equal(self.candidate.results(reply)[0], X))

    def test_what_candidates_ask_of_the_device_has_answers(self):
        reply = self.candidate.call(X, entry="idioms")
        self.assertEqual((reply.text, reply.ops), ("", []))
        out, facts = self.candidate.results(reply)
        self.assertTrue(torch.equal(out, 3 * X))
        self.assertEqual(facts.tolist()[:6], [90, 132, 9, 232448, 32, 4])
        self.assertEqual(self.candidate.ops()[:2], ["tuned", "tuned"])

    def test_an_access_outside_is_a_fault_with_the_kernels_line_even_if_it_is_caught(self):
        where = KERNELS[:KERNELS.index("    tl.store(out + i, scaled")].count("\n") + 1
        for entry in ("wrong", "caught"):
            reply = self.candidate.call(X, entry=entry)
            self.assertEqual((reply.status, reply.line), (wire.GUARD, where))
            self.assertIn("in no buffer", reply.text)

    def test_memory_of_others_is_refused(self):
        reply = self.candidate.call(X, entry="foreign")
        self.assertEqual(reply.status, wire.EXCEPTION)
        self.assertIn("cpu tensor?", reply.text)

    def test_errors_of_the_compiler_and_unknown_operations_are_told_apart(self):
        self.assertEqual(self.candidate.call(X, entry="compile_error").status, wire.COMPILE)
        reply = self.candidate.call(X, entry="unknown")
        self.assertEqual(reply.status, wire.UNSUPPORTED)
        self.assertIn("vote.sync", reply.text)

    def test_a_call_that_is_only_recorded_runs_no_kernel(self):
        candidate = Candidate(ADD + """
def call(x):
    out = torch.zeros(3, device=x.device)
    add[(1,)](x, x, out, 3, BLOCK=4)
    return out
""")
        for only_records, wanted in ((False, [2.0, 4.0, 6.0]), (True, [0.0, 0.0, 0.0])):
            reply = candidate.call(torch.tensor([1.0, 2.0, 3.0]), only_records=only_records)
            self.assertEqual((reply.text, reply.launches, candidate.ops()), ("", {"add": 1}, ["fill", "add"]))
            self.assertEqual(candidate.results(reply)[0].tolist(), wanted)

    def test_a_call_that_is_only_recorded_ends_where_the_host_reads(self):
        candidate = Candidate(HEAD + """
def call(x):
    try:
        return x.tolist()[0] * torch.ones(1, device=x.device)
    except BaseException:
        return torch.ones(1, device=x.device)
""")
        self.assertEqual(candidate.call(X).status, wire.OK)
        self.assertEqual(candidate.call(X, only_records=True).status, wire.NEEDS_LAUNCHES)

    def test_a_grid_without_programs_is_no_launch(self):
        reply = self.candidate.call(X, entry="nothing")
        self.assertEqual((reply.text, reply.launches, self.candidate.ops()), ("", {}, []))

    def test_a_record_for_each_case_takes_no_more_descriptors(self):
        self.candidate.call(X)
        before = len(os.listdir("/proc/self/fd"))
        for _ in range(3):
            self.candidate.call(X)
        self.assertEqual(len(os.listdir("/proc/self/fd")), before)

    def test_results_that_are_not_taken_are_only_described(self):
        candidate = Candidate(KERNELS)
        taken, left = candidate.call(X).outputs[0], candidate.call(X, take=False).outputs[0]
        self.assertEqual((left.sizes, left.dtype, left.n_bytes), (taken.sizes, taken.dtype, 0))
        self.assertGreater(taken.n_bytes, 0)

    def test_a_baseline_is_called_as_a_runner_is(self):
        worker = Baseline("def plus(x, y):\n    return x + y\n")
        for entry in ("python:ours.py:plus", "aten:add.Tensor"):
            reply = worker.call(X, X, entry=entry)
            self.assertEqual(reply.status, wire.OK, reply.text)
            self.assertEqual(reply.outputs[0].sizes, tuple(X.shape))

    def test_two_calls_are_the_same_work_at_other_places(self):
        candidate, seen = Candidate(KERNELS), []
        for _ in range(3):  # the first one tunes
            candidate.call(X)
            seen.append([(op.kind, op.fields["image"], op.fields["grid"], op.fields["params"][16:])
                         for op in candidate.window.ops])
        self.assertEqual(seen[1], seen[2])


TMP = tempfile.TemporaryDirectory(prefix="kgb-records-")
if __name__ == "__main__":
    torch.set_num_threads(1)
    runner.prepare()
    unittest.main()
