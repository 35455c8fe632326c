#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""verify/python/reference/reference.py: native results, those in float64 and the magnitudes, of arguments in every layout."""

import ctypes
import gc
import importlib.util
import math
import mmap
import os
import pathlib
import struct
import sys
import types
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
ARENA = 4096

if not importlib.util.find_spec("torch"):
    other = os.environ.get("KGB_PYTHON") or str(ROOT / ".deps" / "venv" / "bin" / "python")
    if sys.executable == other or not os.access(other, os.X_OK):
        print("skipped: no Python with torch; ./bootstrap setup installs one")
        sys.exit(1 if "torch" in os.environ.get("KGB_TESTS_MUST_RUN", "").split(",") else 77)
    os.execv(other, [other, "-I", *sys.argv])

sys.dont_write_bytecode = True
sys.path[:0] = [str(ROOT / "verify" / "python" / "reference"), str(ROOT / "verify" / "python" / "runner")]
import torch  # noqa: E402
import reference  # noqa: E402
import schema  # noqa: E402
import staging  # noqa: E402
import wire  # noqa: E402


def tensor(at, sizes, strides=None, dtype=torch.float32, elements=None, first=0, **more):
    if strides is None:
        strides, step = [], 1
        for size in reversed(sizes):
            strides.insert(0, step)
            step *= size
    last = sum((size - 1) * stride for size, stride in zip(sizes, strides))
    return dict(kind="tensor", dtype=reference.DTYPE_NUMBERS[dtype], elements=elements or first + last + 1, at=at,
                sizes=sizes, strides=strides, first=first, **more)


class Calls(unittest.TestCase):
    def setUp(self):
        files = [os.memfd_create(name) for name in ("inputs", "out")]
        for file in files:
            os.ftruncate(file, ARENA)
        self.inputs, self.out = (mmap.mmap(file, ARENA) for file in files)
        self.reference = reference.Reference()
        reply = self.reference.handle({"op": "map", "arena_bytes": ARENA, "out_bytes": ARENA}, files)
        self.assertEqual(reply.status, wire.OK, reply.text)

    def write(self, at, values, form="f"):
        struct.pack_into("%d%s" % (len(values), form), self.inputs, at, *values)

    def call(self, target, args, exact=True, magnitude=None):
        """The reply, and every result as (dtype, list of numbers)."""
        before = self.inputs[:]
        request = {"op": "call", "target": target, "args": args, "exact": exact, "magnitude": magnitude}
        reply = self.reference.handle(request, [])
        self.assertEqual(reply.status, wire.OK, reply.text)
        self.assertEqual(self.inputs[:], before, "an argument was written to")
        results = []
        for output in reply.outputs:
            dtype = reference.TORCH_DTYPES[output.dtype]
            count = output.n_bytes // dtype.itemsize
            values = torch.frombuffer(self.out, dtype=dtype, count=count, offset=output.offset)
            results.append((dtype, values.tolist()))
        return reply, results

    def test_the_exact_results_are_computed_in_float64(self):
        self.write(0, [1e8, 1.0, -1e8])
        _, results = self.call("aten:sum", [tensor(0, [3])])
        self.assertEqual([dtype for dtype, _ in results], [torch.float32, torch.float64])
        self.assertEqual(results[1][1], [1.0])

    def test_nothing_exact_unless_it_is_asked_for(self):
        self.write(0, [1.0, 2.0])
        _, results = self.call("aten:neg", [tensor(0, [2])], exact=False, magnitude="abs")
        self.assertEqual(results, [(torch.float32, [-1.0, -2.0])])

    def test_layouts_survive_the_widening(self):
        self.write(64, list(range(24)))
        places = ({"strides": [1, 4]}, {"strides": [8, 2]}, {"strides": [0, 1]}, {"strides": [1, 4], "first": 5})
        for place in places:
            with self.subTest(place):
                first, (s0, s1) = place.get("first", 0), place["strides"]
                wanted = [-float(first + i * s0 + j * s1) for i in range(3) for j in range(4)]
                _, results = self.call("aten:neg", [tensor(64, [3, 4], elements=24, **place)])
                self.assertEqual(results, [(torch.float32, wanted), (torch.float64, wanted)])

    def test_what_lies_beside_the_elements_is_widened_too(self):
        self.write(0, list(range(8)))
        args = [tensor(0, [2], elements=8), dict(kind="int", value=2, list=1), dict(kind="int", value=2, list=2),
                dict(kind="int", value=3)]
        _, results = self.call("aten:as_strided", args)
        self.assertEqual(results, [(torch.float32, [3.0, 5.0]), (torch.float64, [3.0, 5.0])])

    def test_integers_stay_integers_until_they_are_told(self):
        self.write(0, [7, -7], "q")
        args = [tensor(0, [2], dtype=torch.int64), dict(kind="int", value=2)]
        _, results = self.call("aten:floor_divide", args)
        self.assertEqual(results, [(torch.int64, [3, -4]), (torch.float64, [3.0, -4.0])])

    def test_magnitudes_do_not_cancel(self):
        self.write(0, [3.0, -3.0])
        _, results = self.call("aten:sum", [tensor(0, [2])], magnitude="abs")
        self.assertEqual([values for _, values in results], [[0.0], [0.0], [6.0]])

    def test_magnitudes_of_numbers_too(self):
        self.write(0, [1.0])
        self.write(64, [2.0])
        args = [tensor(0, [1]), tensor(64, [1]), dict(kind="float", value="-3.0", name="alpha")]
        _, results = self.call("aten:add.Tensor", args, magnitude="abs")
        self.assertEqual([values for _, values in results], [[-5.0], [-5.0], [7.0]])

    def test_magnitudes_are_those_of_finite_terms(self):
        self.write(0, [1.0, math.inf, -math.nan])
        self.write(64, [2.0, 3.0, -4.0])
        for magnitude, expected in ("abs", [7.0, 9.0, 12.0]), ("aten:add.Tensor", [-5.0, -9.0, 12.0]):
            args = [tensor(0, [3]), tensor(64, [3]), dict(kind="float", value="-3.0", name="alpha")]
            _, results = self.call("aten:add.Tensor", args, magnitude=magnitude)
            self.assertEqual(results[2][1], expected)
        self.assertEqual(reference.finite(torch.tensor([complex(math.nan, 5), complex(1, -math.inf)])).tolist(), [5j, 1])
        args[2]["value"] = "-inf"
        _, results = self.call("aten:add.Tensor", args, magnitude="abs")
        self.assertEqual(results[2][1], [1.0, 0.0, 0.0])

    def test_subnormal_numbers_count_as_the_smallest_normal_one(self):
        least = 2.0 ** -14
        halves = torch.tensor([0.0, -least / 2, 2 * least, -3.0, math.inf], dtype=torch.float16)
        self.assertEqual(reference.term_size(halves).tolist(), [0.0, least, 2 * least, 3.0, 0.0])
        floats = torch.tensor([-least / 2, 2.0 ** -140])
        self.assertEqual(reference.term_size(floats).tolist(), [least / 2, 2.0 ** -140])
        self.assertEqual(reference.term_size(-2), 2)

    def test_magnitudes_of_the_smallest_integers(self):
        for dtype in torch.int8, torch.int16, torch.int32, torch.int64:
            least, most = torch.iinfo(dtype).min, torch.iinfo(dtype).max
            self.assertEqual(reference.absolute(torch.tensor([least, -3], dtype=dtype)).tolist(), [most, 3])
        self.assertEqual(reference.absolute(torch.tensor([0, 255], dtype=torch.uint8)).tolist(), [0, 255])
        self.assertEqual(reference.absolute(-(2 ** 63)), 2 ** 63 - 1)

    def test_magnitudes_of_a_function_of_its_own(self):
        self.write(0, [3.0, -4.0])
        _, results = self.call("aten:sum", [tensor(0, [2])], magnitude="aten:prod")
        self.assertEqual([values for _, values in results], [[-1.0], [-1.0], [-12.0]])

    def test_results_are_float32_unless_something_else_was_said(self):
        size = [dict(kind="int", value=2, list=1)]
        _, results = self.call("aten:ones", size)
        self.assertEqual(results[0], (torch.float32, [1.0, 1.0]))

    def test_a_dtype_that_is_asked_for_is_widened(self):
        self.write(0, [1.0, 2.0 ** -12])
        dtype = dict(kind="dtype", value=reference.DTYPE_NUMBERS[torch.float16], name="dtype")
        _, results = self.call("aten:sum", [tensor(0, [2]), dtype])
        self.assertEqual(results, [(torch.float16, [1.0]), (torch.float64, [1.0 + 2.0 ** -12])])

    def test_an_operator_in_place_does_so_on_copies(self):
        self.write(0, [1.0, 2.0])
        _, results = self.call("aten:add_.Tensor", [tensor(0, [2]), tensor(0, [2])], magnitude="abs")
        self.assertEqual([values for _, values in results], [[2.0, 4.0]] * 3)

    def test_a_view_of_an_argument_is_told(self):
        self.write(128, [1.0, 2.0, 3.0])
        args = [tensor(128, [3]), dict(kind="int", value=0), dict(kind="int", value=2)]
        reply, _ = self.call("aten:select.int", args)
        native, exact = reply.outputs
        self.assertEqual((native.where, native.address, exact.where), (wire.ARENA, 136, wire.FRESH))
        reply, _ = self.call("aten:neg", [tensor(128, [3])])
        self.assertEqual(reply.outputs[0].where, wire.FRESH)

    def test_other_sizes_in_float64_are_an_error(self):
        source = b"def twice(x):\n    return x.repeat(2 if str(x.dtype) == 'torch.float64' else 1)\n"
        file = os.memfd_create("source")
        os.pwrite(file, source, 0)
        self.assertEqual(self.reference.handle({"op": "load", "file": "own.py"}, [file]).status, wire.OK)
        request = {"op": "call", "target": "python:own.py:twice", "args": [tensor(0, [2])], "magnitude": None}
        self.assertEqual(self.reference.handle(dict(request, exact=False), []).status, wire.OK)
        reply = self.reference.handle(dict(request, exact=True), [])
        self.assertEqual(reply.status, wire.EXCEPTION)
        self.assertIn("other sizes", reply.text)

    def test_results_without_room_are_counted_and_not_written(self):
        args = [dict(kind="int", value=ARENA, list=1)]
        request = {"op": "call", "target": "aten:ones", "args": args, "exact": False, "magnitude": None}
        reply = self.reference.handle(request, [])
        self.assertEqual((reply.status, reply.value, reply.outputs[0].n_bytes), (wire.OK, 4 * ARENA, 0))

    def test_what_lies_around_arguments_is_seen(self):
        def before(x):
            return x + ctypes.c_ubyte.from_address(x.data_ptr() - 1).value

        def behind(x):
            return x + ctypes.c_ubyte.from_address(x.data_ptr() + 8).value

        def writes(x):
            ctypes.memset(x.data_ptr() + 9, 0, 100)
            return x + 1

        def honest(x):
            return x + 1

        self.reference.modules["f.py"] = types.SimpleNamespace(before=before, behind=behind, writes=writes, honest=honest)
        self.write(0, [1.0, 2.0])

        def asked(name, slack):
            request = {"op": "call", "target": "python:f.py:" + name, "args": [tensor(0, [2])], "exact": False,
                       "magnitude": None, "slack": slack}
            reply = self.reference.handle(request, [])
            return reply, self.out[:8]

        self.assertEqual(asked("honest", 1)[1], struct.pack("2f", 2, 3))
        for name in ("before", "behind"):
            self.assertGreater(len({asked(name, slack)[1] for slack in range(1, 9)}), 1, name)
        reply, _ = asked("writes", 1)
        self.assertEqual(reply.status, wire.EXCEPTION)
        self.assertIn("writes outside", reply.text)

    def test_a_median_is_told(self):
        reply = self.reference.handle({"op": "time", "target": "aten:neg", "args": [tensor(0, [2])]}, [])
        self.assertEqual(reply.status, wire.OK, reply.text)
        self.assertGreater(reply.value, 0)


class Schemas(unittest.TestCase):
    def asked(self, **changes):
        def param(name, kind="tensor", **more):
            return dict(dict(name=name, kind=kind, keyword=False, list=False, written=False, absent=False), **more)

        right = dict(operator="aten::add", source="aten", entry="add_out", target="add.out", nones=0, returned=["out"],
                     schema="add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)",
                     params=[param("self"), param("other"), param("alpha", "value", keyword=True),
                             param("out", "out", keyword=True, written=True)])
        for key, value in changes.items():
            if key in right:
                right[key] = value
            else:
                right["params"][int(key[1:])].update(value)
        return "; ".join(schema.problems(right))

    def test_what_is_right_has_no_problem(self):
        self.assertEqual(self.asked(), "")

    def test_each_difference_is_told(self):
        add = "add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)"
        table = (
            (dict(schema="add.out(Tensor self"), "it is no schema"),
            (dict(schema=add.replace("alpha=1", "alpha=2")), "torch has registered add.out"),
            (dict(schema=add.replace("(a!) out", " out")), "torch has registered"),
            (dict(schema=add.replace("add.out", "add.outer")), "torch has no operator aten::add.outer"),
            (dict(operator="aten::sub"), "the schema is that of aten::add"),
            (dict(entry="add"), "its function should be called add_out"),
            (dict(target="add.Tensor"), "the reference is add.Tensor"),
            (dict(returned=["out", None]), "the schema returns 1 results, the spec 2"),
            (dict(returned=[None]), "result 0 is out in the schema"),
            (dict(returned=["self"]), "result 0 is self, but fresh"),
            (dict(p0=dict(name="input")), "parameters are (input, other, alpha, out)"),
            (dict(p0=dict(kind="value")), "self is Tensor in the schema"),
            (dict(p1=dict(written=True)), "other holds a result"),
            (dict(p2=dict(keyword=False)), "alpha is passed by name in the schema"),
            (dict(p3=dict(written=False)), "out is written to in the schema"),
        )
        for changes, wanted in table:
            with self.subTest(changes):
                self.assertIn(wanted, self.asked(**changes))


class Tap(unittest.TestResult):
    number = 0

    def stopTest(self, test):
        super().stopTest(test)
        self.number += 1
        problems = [text for failed, text in self.failures + self.errors if getattr(failed, "test_case", failed) is test]
        print("%s %d - %s" % ("not ok" if problems else "ok", self.number, test.id().replace("__main__.", "")))
        for problem in problems:
            print("# " + problem.replace("\n", "\n# "))


class Files(unittest.TestCase):
    def map(self, worker):
        files = [os.memfd_create(name) for name in ("inputs", "out")]
        for file in files:
            os.ftruncate(file, ARENA)
        self.assertEqual(worker.handle({"op": "map", "arena_bytes": ARENA, "out_bytes": ARENA}, files).status, wire.OK)

    def test_a_process_that_serves_many_verifications_keeps_no_files(self):
        gc.collect()
        before = len(os.listdir("/proc/self/fd"))
        for _ in range(3):
            worker = reference.Reference()
            for _ in range(3):
                self.map(worker)
            worker.close()
            del worker
            gc.collect()
            self.assertEqual(len(os.listdir("/proc/self/fd")), before)


class Host:
    """What staging uses of torch.cuda, where there is no GPU: copies are over when they are asked for."""

    def synchronize(self):
        pass

    record = synchronize


class Staged(unittest.TestCase):
    def setUp(self):
        pinned = torch.empty
        self.addCleanup(setattr, staging.torch, "empty", pinned)
        staging.torch.empty = lambda n, pin_memory, **more: pinned(n, **more)
        event = torch.cuda.Event
        self.addCleanup(setattr, torch.cuda, "Event", event)
        torch.cuda.Event = Host
        self.staging = staging.Staging()
        torch.empty = pinned

    def test_all_bytes_go_to_the_file_and_back(self):
        for n_bytes in (1, staging.PART, staging.PART + 1, (2 * staging.THREADS + 1) * staging.PART + 77):
            file = os.memfd_create("file")
            os.ftruncate(file, n_bytes + 100)
            value = torch.randint(0, 256, (n_bytes,), dtype=torch.uint8)
            self.staging.download(value, file, 64)
            back = torch.zeros(n_bytes, dtype=torch.uint8)
            self.staging.upload(file, 64, back)
            self.assertTrue(torch.equal(back, value))
            self.assertEqual(os.pread(file, 64, 0) + os.pread(file, 36, 64 + n_bytes), bytes(100))
            os.close(file)

    def test_a_file_that_is_too_short_is_an_error(self):
        file = os.memfd_create("file")
        os.ftruncate(file, 10)
        with self.assertRaises(EOFError):
            self.staging.upload(file, 0, torch.zeros(11, dtype=torch.uint8))
        os.close(file)


if __name__ == "__main__":
    reference.prepare()
    suite = unittest.defaultTestLoader.loadTestsFromModule(sys.modules[__name__])
    print("1..%d" % suite.countTestCases())
    result = Tap()
    suite.run(result)
    sys.exit(0 if result.wasSuccessful() else 1)
