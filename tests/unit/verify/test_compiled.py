#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""verify/python/runner/compiled.py, front_end.py, values.py and host_code.py: the interpreter runs only kernels that Triton's
compiler accepts."""

import importlib.util
import os
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "verify" / "python" / "runner"))
sys.dont_write_bytecode = True
os.environ["TRITON_INTERPRET"] = "1"
try:
    import torch
    import triton.language as tl
except ImportError:
    other = os.environ.get("KGB_PYTHON") or str(ROOT / ".deps" / "venv" / "bin" / "python")
    if sys.executable == other or not os.access(other, os.X_OK):
        print("skipped: no Python with torch and triton; ./bootstrap setup installs one")
        sys.exit(1 if "torch" in os.environ.get("KGB_TESTS_MUST_RUN", "").split(",") else 77)
    os.execv(other, [other, "-I", *sys.argv])
import triton.runtime.interpreter as interpreter  # noqa: E402
from triton.compiler.errors import CompilationError  # noqa: E402

import compiled  # noqa: E402
import front_end  # noqa: E402
import host_code  # noqa: E402
import interpreter_fixes  # noqa: E402
import interpreter_speed  # noqa: E402
import values  # noqa: E402
from host_code import NotTriton  # noqa: E402

HEAD = "import functools\nimport operator\nimport torch\nimport triton\nimport triton.language as tl\n"
N = 8


def counted_launches(function):
    """As in on_cpu.hook_interpreter: during a launch its kernel is in RUNNING."""

    def launch(self, *args, **kwargs):
        host_code.RUNNING.append(self.fn.__name__)
        try:
            return function(self, *args, **kwargs)
        finally:
            host_code.RUNNING.pop()

    return launch


def setUpModule():
    compiled.prepare()
    interpreter_fixes.apply()
    front_end.apply()
    interpreter_speed.apply()
    interpreter.GridExecutor.__call__ = counted_launches(interpreter.GridExecutor.__call__)


class Kernels(unittest.TestCase):
    def load(self, text):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = pathlib.Path(folder.name) / "kernel.py"
        path.write_text(HEAD + text)
        spec = importlib.util.spec_from_file_location("kernel", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    def launched(self, text, *args, **kwargs):
        """The values that the kernel `k` of this text writes."""
        out = torch.full((N,), -1.0)
        self.load(text).k[(1,)](out, *args, **kwargs)
        return out.tolist()

    def refused(self, text, *args, **kwargs):
        """The message of the exception."""
        try:
            self.fail("accepted: %s" % self.launched(text, *args, **kwargs))
        except Exception as raised:
            error = raised
        while isinstance(error, interpreter.InterpreterError):
            error = error.__cause__
        self.assertIsInstance(error, (NotTriton, CompilationError, KeyError))
        return error


class WhatTheCompilerSays(Kernels):
    def test_a_kernel_that_does_not_compile_is_refused_with_the_line(self):
        error = self.refused("@triton.jit\ndef k(o):\n    tl.store(o, tl.no_such_function(1))\n")
        self.assertIn("no_such_function", str(error))
        trace = error.__traceback__
        while trace.tb_next:
            trace = trace.tb_next
        self.assertEqual(trace.tb_lineno, HEAD.count("\n") + 3)

    def test_an_error_in_the_library_is_at_the_line_of_the_call(self):
        error = self.refused("@triton.jit\ndef k(o, S: tl.constexpr):\n    tl.store(o, tl.sum(tl.arange(0, 4), axis=S))\n", S=7)
        self.assertEqual(error.node.lineno, HEAD.count("\n") + 3)

    def test_options_that_triton_does_not_know_are_refused(self):
        text = "@triton.jit\ndef k(o):\n    tl.store(o, 1.0)\n"
        self.assertEqual(self.launched(text, num_warps=8)[0], 1.0)
        self.assertIn("no_such_option", str(self.refused(text, no_such_option=1)))

    def test_each_list_of_types_and_constants_is_compiled_once(self):
        module = self.load("@triton.jit\ndef k(o, n, C: tl.constexpr):\n    tl.store(o, n * C)\n")
        before = len(compiled.KNOWN)
        for n, constant, new in ((2, 1, 1), (3, 1, 1), (2.5, 1, 2), (2, 2, 3), (2, 2.0, 4), (2, 2, 4)):
            module.k[(1,)](torch.zeros(N), n, C=constant)
            self.assertEqual(len(compiled.KNOWN) - before, new)

    def test_a_number_that_is_one_may_be_a_constant(self):
        self.assertEqual(self.launched("@triton.jit\ndef k(o, n):\n    tl.store(o + tl.arange(0, 4), 0.0)\n"
                                       "    tl.static_assert(n == 1)\n", 1)[:4], [0.0] * 4)

    def test_variables_of_a_function_around_a_kernel_are_its_constants(self):
        self.assertEqual(self.launched("def make(v):\n    V = tl.constexpr(v)\n    @triton.jit\n    def k(o):\n"
                                       "        tl.store(o, V)\n    return k\nV = tl.constexpr(1.0)\nk = make(5.0)\n")[0], 5.0)

    def test_two_helpers_of_one_name_are_two(self):
        text = "def make(v):\n    V = tl.constexpr(v)\n    @triton.jit\n    def f(x):\n        return x * V\n    return f\n" \
               "a, b = make(2.0), make(3.0)\n@triton.jit\ndef k(o, x):\n    tl.store(o, a(x))\n    tl.store(o + 1, b(x))\n"
        self.assertEqual(self.launched(text, 1.5)[:2], [3.0, 4.5])

    def test_the_language_is_itself_again_when_something_else_is_compiled(self):
        module = self.load("@triton.jit\ndef f(a, b):\n    return a + b\n@triton.jit\ndef k(o, C: tl.constexpr):\n"
                           "    v = tl.arange(0, 4)\n    tl.store(o, tl.reduce(v, 0, f) + tl.sum(v, 0) + v.max(0) + C)\n")
        for constant in (1, 2, 3):
            out = torch.zeros(N)
            module.k[(1,)](out, C=constant)
            self.assertEqual(out[0].item(), 15 + constant)


class OnlyWhatWasCompiled(Kernels):
    def test_a_branch_that_the_compiler_did_not_take_is_not_run(self):
        text = "@triton.jit\ndef k(o):\n    if isinstance((o,), tl.tuple):\n        tl.store(o, 1.0)\n    else:\n        tl.store(o, 2.0)\n"
        self.assertIn("line %d" % (HEAD.count("\n") + 6), str(self.refused(text)))

    def test_nor_is_one_of_an_expression(self):
        text = "@triton.jit\ndef k(o):\n    tl.store(o, 1.0 if isinstance((o,), tl.tuple) else 2.0)\n"
        self.assertIn("compiled", str(self.refused(text)))

    def test_nor_is_the_message_of_an_assertion(self):
        self.assertEqual(self.launched("@triton.jit\ndef k(o):\n    tl.store(o, 1.0)\n    tl.static_assert(True, tl.store(o, 2.0))\n")[0], 1.0)

    def test_a_variable_that_has_changed_is_noticed(self):
        module = self.load("V = tl.constexpr(1.0)\n@triton.jit\ndef k(o):\n    tl.store(o, V)\n")
        out = torch.zeros(N)
        module.k[(1,)](out)
        module.V = tl.constexpr(1.0)
        module.k[(1,)](out)
        module.V = tl.constexpr(2.0)
        with self.assertRaisesRegex(NotTriton, "changed"):
            module.k[(1,)](out)

    def test_functions_of_constants_give_what_they_gave_the_compiler(self):
        module = self.load("CALLS = [0]\n@triton.constexpr_function\ndef f(i):\n    CALLS[0] += 1\n    return i + 1\n"
                           "@triton.jit\ndef k(o):\n    for i in tl.static_range(3):\n        tl.store(o + i, f(i) * 1.0)\n")
        out = torch.zeros(N)
        module.k[(1,)](out)
        self.assertEqual(out[:3].tolist(), [1.0, 2.0, 3.0])
        self.assertEqual(module.CALLS, [3])

    def test_defaults_are_those_of_the_function(self):
        self.assertEqual(self.launched("@triton.jit\ndef f(x, y=2.0, *, z=3.0):\n    return x + y * z\n"
                                       "@triton.jit\ndef k(o):\n    tl.store(o, f(1.0))\n")[0], 7.0)

    def test_an_executor_that_the_host_has_made_is_none(self):
        module = self.load("def f(o):\n    tl.store(o, 1.0)\n")
        with self.assertRaises(NotTriton):
            interpreter.GridExecutor(module.f, ["o"], (1,))(torch.zeros(N))


class Values(Kernels):
    TEXT = "@triton.jit\ndef k(o, v):\n    tl.store(o, v * 2.0)\n"

    def test_numbers_of_other_classes_become_plain_ones(self):
        class Number(float):
            def __mul__(self, other):
                return 99.0

        self.assertIs(type(values.plain(Number(1.5))), float)
        self.assertEqual(self.launched(self.TEXT, Number(1.5))[0], 3.0)

    def test_named_tuples_lose_their_methods(self):
        module = self.load("from typing import NamedTuple\nclass P(NamedTuple):\n    a: int\n    b: int = 4\n"
                           "    def __getitem__(self, i):\n        return 99\n")
        made = values.plain(module.P(3))
        self.assertEqual((made[0], made.b, made._fields), (3, 4, ("a", "b")))

    def test_objects_are_refused(self):
        for value in (object(), {}, len, torch, lambda v: v, tl.core.tuple([1.0])):
            with self.assertRaises(NotTriton):
                values.plain(value)

    def test_what_triton_offers_is_not(self):
        for value in (tl.float32, tl.sum, tl.pointer_type(tl.float32), (1, None, "text"), torch.float16):
            self.assertEqual(values.plain(value), value)


class HostCode(Kernels):
    def test_no_code_of_the_module_runs_in_a_kernel(self):
        module = self.load('def f():\n    """Text."""\n    return 1\ndef g():\n    yield 1\n    yield 2\n'
                           "h = lambda: 3\nresumed = g()\nnext(resumed)\nparts = (x for x in (1, 2))\n"
                           "class C:\n    @property\n    def p(self):\n        return 4\n")
        calls = (module.f, module.h, lambda: next(module.g()), lambda: next(module.resumed), lambda: next(module.parts),
                 lambda: module.C().p)
        for call in calls:
            host_code.RUNNING.append("k")
            try:
                with self.assertRaises(NotTriton):
                    call()
            finally:
                host_code.RUNNING.pop()
        module = self.load('def f():\n    """Text."""\n    return 1\ndef g():\n    got = yield 1\n    yield got\n')
        self.assertEqual((module.f(), module.f.__doc__), (1, "Text."))
        generator = module.g()
        self.assertEqual((next(generator), generator.send(7)), (1, 7))


if __name__ == "__main__":
    unittest.main()
