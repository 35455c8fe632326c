#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The machine runs kernels that Triton's front end compiled, as right as torch; their faults name the kernel's line."""

import os
import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[4]
sys.path.insert(0, str(ROOT / "tests" / "helpers"))
sys.dont_write_bytecode = True
os.environ.pop("TRITON_INTERPRET", None)
try:
    import torch
    import triton  # noqa: F401
except ImportError:
    other = os.environ.get("KGB_PYTHON") or str(ROOT / ".deps" / "venv" / "bin" / "python")
    if sys.executable == other or not os.access(other, os.X_OK):
        print("skipped: no Python with torch and triton; ./bootstrap setup installs one")
        sys.exit(1 if "torch" in os.environ.get("KGB_TESTS_MUST_RUN", "").split(",") else 77)
    os.execv(other, [other, "-I", *sys.argv])
import machine_kernels as kernels  # noqa: E402
from machine_library import Fault, Machine, compile_ttir  # noqa: E402

MACHINE = Machine(sys.argv.pop())
TYPES = {torch.float32: "fp32", torch.float16: "fp16", torch.bfloat16: "bf16", torch.float64: "fp64", torch.int32: "i32",
         torch.int64: "i64", torch.float8_e4m3fn: "fp8e4nv", torch.float8_e5m2: "fp8e5"}
LARGEST = {torch.float8_e4m3fn: 448.0, torch.float8_e5m2: 57344.0}  # a conversion saturates
FLOATS = (torch.float32, torch.float16, torch.bfloat16, torch.float64, *LARGEST)
EPSILONS = {torch.float32: 2.0 ** -23, torch.float16: 2.0 ** -10, torch.bfloat16: 2.0 ** -7, torch.float64: 2.0 ** -52}


def compiled(kernel, args, constants, **options):
    signature = {name: "*" + TYPES[value.dtype] if isinstance(value, torch.Tensor) else
                 "fp32" if isinstance(value, float) else "i32" for name, value in args.items()}
    return compile_ttir(kernel, signature, constants, **options)


def run(program, args, grid, **options):
    """The tensors after a launch."""
    mine = {name: value.clone() if isinstance(value, torch.Tensor) else value for name, value in args.items()}
    program.run(mine.values(), grid, **options)
    return mine


class Kernels(unittest.TestCase):
    def test_results_are_right_whatever_the_form_of_the_text_and_the_order_of_programs(self):
        for name, (kernel, args, grid, constants, outputs) in kernels.cases().items():
            text = compiled(kernel, args, constants)
            raw = compiled(kernel, args, constants, normal=False, locations=True)
            results = [run(MACHINE.program(text), args, grid, races=True),
                       run(MACHINE.program(raw), args, grid, seed=2, threads=2, races=True)]
            for output, right in outputs.items():
                for mine in results:
                    with self.subTest(kernel=name, output=output):
                        self.close(mine[output], right)

    def close(self, got, right):
        if not got.is_floating_point():
            self.assertTrue(torch.equal(got.long(), right.long()))
            return
        epsilon = EPSILONS[got.dtype]
        error = (got.double() - right.double()).abs()
        allowed = epsilon * right.double().abs() + 40 * 2.0 ** -23 * right.double().abs().max() + (
            4 * 2.0 ** -10 * 0.3 if got.dtype == torch.float16 else 0)
        self.assertTrue(bool((error <= allowed).all()), "error %g" % float((error - allowed).max()))

    def test_conversions_are_those_of_torch_to_the_bit(self):
        odd = [0.0, -0.0, 448, 463, 1000, 2.0 ** -9, 2.0 ** -10, 3 * 2.0 ** -10, 1.0625, 1.1875, 1e-40, 70000]
        values = torch.cat([torch.tensor(odd + [float("nan"), float("inf"), -float("inf"), 3.4e38]), kernels.normal(1008) * 100])
        for source in FLOATS:
            for target in (*FLOATS, torch.int32, torch.int64):
                if source == target or source in LARGEST and target not in FLOATS[:4]:
                    continue
                x = values if target in FLOATS[:4] else values.nan_to_num(0, 9, 9).clamp(-999, 999)
                x = x.to(source)
                args = {"x": x, "out": torch.zeros(1024, dtype=target)}
                with self.subTest(source=source, target=target):
                    made = run(MACHINE.program(compiled(kernels.convert, args, {"B": 1024})), args, (1,))["out"]
                    right = x.double().clamp(-LARGEST[target], LARGEST[target]).to(source) if target in LARGEST else x
                    self.assertTrue(torch.equal(made.double().nan_to_num(7), right.to(target).double().nan_to_num(7)))
                    self.assertTrue(torch.equal(made.double().isnan(), right.to(target).double().isnan()))

    def test_a_fault_names_the_kernel_s_line_and_the_program(self):
        kernel, args, grid, constants, _ = kernels.cases()["elementwise float32"]
        program = MACHINE.program(compiled(kernel, args, constants, normal=False, locations=True))
        with self.assertRaises(Fault) as caught:
            run(program, {**args, "n": 5001}, grid)
        fault = caught.exception
        lines = pathlib.Path(kernels.__file__).read_text().splitlines()
        self.assertIn("tl.load(x + i", lines[fault.kernel_line - 1])
        self.assertEqual((fault.kind, fault.program, fault.buffer, fault.offset), ("access", (4, 0, 0), 0, 20000))

    def test_programs_that_store_the_same_are_no_race(self):
        kernel, args, grid, constants, _ = kernels.cases()["elementwise float32"]
        text = compiled(kernel, args, constants).replace("tt.get_program_id x : i32", "arith.constant 0 : i32")
        run(MACHINE.program(text), args, grid, races=True)  # all store the same

    def test_the_compiler_s_claims_are_checked(self):
        kernel, args, grid, constants, _ = kernels.cases()["elementwise float32"]
        text = compiled(kernel, args, constants, attributes={"x": [["tt.divisibility", 16]]})
        self.assertIn("tt.divisibility = 16", text)
        program = MACHINE.program(text)
        run(program, args, grid)
        with self.assertRaises(Fault) as caught:
            run(program, {**args, "x": ("at", args["x"], 4), "n": 4999}, grid)
        self.assertEqual(caught.exception.kind, "claim")


if __name__ == "__main__":
    unittest.main()
