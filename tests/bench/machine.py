#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Speed of the machine for Triton's IR: milliseconds for a launch, and elements of the output in a second.

    machine.py LIBRARY [--threads N]

LIBRARY is <build>/tests/helpers/machine_library.so of a release build. Needs torch and triton.
"""

import argparse
import os
import pathlib
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "helpers"))
sys.dont_write_bytecode = True
TYPES = {"float32": "fp32", "float16": "fp16", "bfloat16": "bf16", "float64": "fp64", "int32": "i32"}


def milliseconds(program, args, grid, threads):
    launch = program.prepare(args.values(), grid, threads=threads)
    program.start(launch)
    times = []
    while len(times) < 5 or (sum(times) < 0.3 and len(times) < 200):
        began = time.perf_counter()
        program.start(launch)
        times.append(time.perf_counter() - began)
    return 1e3 * sorted(times)[len(times) // 2]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library")
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    import torch
    from machine_library import Machine, compile_ttir
    import machine_kernels
    machine = Machine(os.path.abspath(options.library))
    print("%-26s %12s %12s %10s" % ("case", "1 thread, ms", "%d threads" % options.threads, "Melem/s"))
    for name, (kernel, args, grid, constants, _) in machine_kernels.large_cases().items():
        signature = {key: "*" + TYPES[str(value.dtype)[6:]] if isinstance(value, torch.Tensor) else "i32"
                     for key, value in args.items()}
        program = machine.program(compile_ttir(kernel, signature, constants))
        one = milliseconds(program, args, grid, 1)
        more = milliseconds(program, args, grid, options.threads)
        elements = max(value.numel() for value in args.values() if isinstance(value, torch.Tensor))
        print("%-26s %12.2f %12.2f %10.1f" % (name, one, more, elements / more / 1e3))


if __name__ == "__main__":
    main()
