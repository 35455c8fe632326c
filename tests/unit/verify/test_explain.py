#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""verify/python/runner/explain.py: what a kernel's author reads of an exception."""

import ast
import os
import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "verify" / "python" / "runner"))
sys.dont_write_bytecode = True
try:
    import triton
except ImportError:
    other = os.environ.get("KGB_PYTHON") or str(ROOT / ".deps" / "venv" / "bin" / "python")
    if sys.executable == other or not os.access(other, os.X_OK):
        print("skipped: no Python with triton; ./bootstrap setup installs one")
        sys.exit(1 if "torch" in os.environ.get("KGB_TESTS_MUST_RUN", "").split(",") else 77)
    os.execv(other, [other, "-I", *sys.argv])
import explain  # noqa: E402
import triton.language as tl  # noqa: E402
from triton.compiler.errors import CompilationError  # noqa: E402

SOURCE = """import triton


@triton.jit
def helper(x):
    return tl.tanh(x)


@triton.jit
def kernel(x):
    return helper(x)
"""
HELPER = "def helper(x):\n    return tl.tanh(x)\n"
KERNEL = "def kernel(x):\n    return helper(x)\n"


def error_of(run):
    try:
        run()
    except Exception as error:
        return error
    raise AssertionError("nothing was raised")


def call(text):
    return ast.parse(text).body[0].body[0]


class Names(unittest.TestCase):
    def advice(self, run):
        return explain.advice(str(error_of(run)))

    def test_a_name_that_moved_is_named_where_it_is(self):
        rows = (("tanh", "libdevice.tanh (from triton.language.extra import libdevice)"),
                ("libdevice", "triton.language.extra.libdevice"), ("float8e4m3fn", "tl.float8e4nv"))
        for name, where in rows:
            advice = self.advice(lambda name=name: getattr(tl, name))
            self.assertIn(where, advice)
            self.assertIn("Triton " + triton.__version__, advice)
        self.assertIn("libdevice.pow", self.advice(lambda: tl.math.pow))

    def test_what_is_advised_is_there(self):
        for place, _ in explain.PLACES:
            self.assertTrue(hasattr(place, "__name__"))
        for name in explain.GONE:
            self.assertFalse(hasattr(tl, name) and name != "make_block_ptr", name)
        self.assertTrue(hasattr(tl, "make_tensor_descriptor") and hasattr(tl, "reduce_or"))

    def test_imports_and_methods(self):
        self.assertIn("libdevice", self.advice(lambda: exec("from triton.language import libdevice")))
        self.assertIn("libdevice", self.advice(lambda: exec("import triton.language.libdevice")))
        self.assertIn("tl.clamp", explain.advice("'tensor' object has no attribute 'clamp'"))
        self.assertIn("tl.make_tensor_descriptor", explain.advice("Block pointers have been removed in favor of"))
        self.assertIn("device=x.device", explain.advice("Pointer argument (at 0) cannot be accessed from Triton (cpu tensor?)"))

    def test_nothing_is_advised_where_nothing_is_known(self):
        for text in ("ValueError: n", "module 'triton.language' has no attribute 'xyzzy'", "No module named 'foo'",
                     "module 'triton.language' has no attribute '_private'"):
            self.assertEqual("", explain.advice(text))


class Errors(unittest.TestCase):
    def test_the_line_of_the_innermost_function_is_told(self):
        def run():
            try:
                raise CompilationError(HELPER, call(HELPER), "AttributeError(\"module 'triton.language' has no attribute 'tanh'\")")
            except CompilationError as inner:
                raise CompilationError(KERNEL, call(KERNEL), None) from inner
        text, line = explain.describe(error_of(run), SOURCE)
        self.assertEqual(6, line)
        self.assertIn("in `return tl.tanh(x)`", text)
        self.assertIn("use libdevice.tanh", text)

    def test_a_compilation_error_without_a_text_has_that_of_its_cause(self):
        def run():
            try:
                raise ValueError("three")
            except ValueError as cause:
                raise CompilationError(KERNEL, call(KERNEL), None) from cause
        text, line = explain.describe(error_of(run), SOURCE)
        self.assertEqual((11, True), (line, "ValueError: three, in `return helper(x)`" in text))

    def test_any_other_exception_keeps_its_type_and_text(self):
        self.assertEqual(("ValueError: three", 0), explain.describe(ValueError("three"), SOURCE))
        self.assertEqual(("CompilationError: odd", 0), explain.describe(CompilationError(None, None, "odd"), SOURCE))

        class Silent(Exception):
            def __str__(self):
                raise RuntimeError

        self.assertEqual("Silent: (its message cannot be shown)", explain.describe(Silent())[0])


if __name__ == "__main__":
    unittest.main()
