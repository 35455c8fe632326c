# SPDX-License-Identifier: MIT
"""Checks proofs of provenance on a machine with a GPU, torch and triton: which kernels of a real process are the
candidate's, torch's fills and copies, or a library's. Prints one line per check, PASS, FAIL or SKIP, and figures; exit
status 0 when no check failed.

    python3 tests/gpu/provenance_check.py <build> [--work DIR]
"""

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
KERNELS = os.path.join(ROOT, "tests/helpers/provenance_kernels.py")
MOVES, TRITON, COMPUTING = 1, 2, 3  # windows
N = 4096
FAILED = []


def check(name, right, text=""):
    print("%s %s%s" % ("PASS" if right else "FAIL", name, ": " + text if text else ""), flush=True)
    if not right:
        FAILED.append(name)


# ---- the process that is recorded ----

def moves(torch):
    """All operators that dispatch.yaml allows outside of kernels and that run on the GPU."""
    x = torch.empty((N, 64), device="cuda")
    for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.bool):
        torch.full((1000, 3), 1, dtype=dtype, device="cuda").fill_(0)
        torch.zeros(1001, dtype=dtype, device="cuda")
        torch.ones_like(x, dtype=dtype)
        x.to(dtype).float()
        x[:, 3:40].to(dtype).clone()
    torch.arange(1000, device="cuda")
    torch.arange(0, 1, 0.25, device="cuda")
    x.t().contiguous()
    x[::2, ::3].contiguous()
    x.copy_(x[:1, :].expand(N, 64))
    x[:, 1:].zero_()
    torch.full((), 2.0, device="cuda")


def triton_kernels(torch, kernels):
    x = torch.ones(N, device="cuda")
    out = torch.empty(N, device="cuda")
    a = torch.ones((256, 256), dtype=torch.float16, device="cuda")
    c = torch.empty_like(a)

    def run():
        kernels.add[(4,)](x, x, out, N, BLOCK=1024)
        kernels.add[(4,)](x, x, out, N, BLOCK=1024, num_warps=8)
        kernels.softmax[(4,)](x, out, 1024, BLOCK=1024)
        kernels.sine[(16,)](x, out, N, BLOCK=256)
        kernels.assembly[(1,)](x, out, 256, BLOCK=256)
        kernels.total_of_squares[(1,)](x, out, N, BLOCK=256)
        kernels.matmul[(4, 4)](a, a, c, 256, 256, 256, BLOCK=64)
    return run


def computing(torch):
    x = torch.ones((N, 64), device="cuda")
    x + x
    -x
    torch._neg_view(x).clone()
    torch.cat([x, x])
    x.sum()
    x.t() @ x


def recorded_process(work, library):
    """Runs with CUDA_INJECTION64_PATH set; leaves work/record."""
    import ctypes
    import torch
    sys.path[len(sys.path):] = [os.path.join(ROOT, "verify/python/runner")]
    import remote
    remote.install()
    remote.use(int(os.environ["KGB_SEATS"].split()[0]))
    spec = importlib.util.spec_from_file_location("kernel", KERNELS)
    kernels = importlib.util.module_from_spec(spec)
    sys.modules["kernel"] = kernels
    spec.loader.exec_module(kernels)
    trace = ctypes.CDLL(library)
    trace.kgb_trace_status.restype = ctypes.c_char_p

    def call(name, *arguments):
        if getattr(trace, name)(*arguments) != 0:
            raise SystemExit("%s: %s" % (name, trace.kgb_trace_status().decode()))

    torch.zeros(1, device="cuda")
    print(trace.kgb_trace_status().decode(), file=sys.stderr)
    record = os.open(os.path.join(work, "record"), os.O_RDWR | os.O_CREAT | os.O_TRUNC)
    call("kgb_trace_open", record, ctypes.c_uint64(256 << 20))
    run = triton_kernels(torch, kernels)
    run()  # compiles
    for number, function in ((MOVES, lambda: moves(torch)), (TRITON, run), (COMPUTING, lambda: computing(torch))):
        call("kgb_trace_begin", number)
        function()
        torch.cuda.synchronize()
        call("kgb_trace_end")
    for folder, _, names in os.walk(os.environ["TRITON_CACHE_DIR"]):
        for name in names:
            if name.endswith(".cubin"):
                print(os.path.join(folder, name), flush=True)


# ---- checks ----

def run_driver(arguments, *more):
    command = [os.path.join(arguments.build, "bin/provenance_driver"), "--kernel", KERNELS] + list(more)
    done = subprocess.run(command, stdout=subprocess.PIPE, check=False)
    if done.returncode != 0:
        raise SystemExit("FAIL driver: status %d: %s" % (done.returncode, " ".join(command[:3])))
    return [json.loads(line) for line in done.stdout.splitlines()]


def check_index(arguments, libraries):
    for cached in (False, True):
        started = time.monotonic()
        lines = run_driver(arguments, "index", "--cache", os.path.join(arguments.work, "index"), *libraries)
        for line in lines:
            print("    %(library)s: %(digests)d digests, %(ms).1f ms" % line)
        check("index%s" % (" from the cache" if cached else ""), all(line["cached"] == cached for line in lines) and
              lines[0]["digests"] > 100, "%d libraries in %.3f s" % (len(lines), time.monotonic() - started))


def check_owners(lines):
    by_window = {number: [line for line in lines if line.get("window") == number]
                 for number in (MOVES, TRITON, COMPUTING)}
    for number, owners, name in ((MOVES, {"torch_move"}, "fills and copies"), (TRITON, {"triton"}, "Triton kernels"),
                                 (COMPUTING, {"library", "unknown", "torch_move"}, "computing kernels")):
        found = by_window[number]
        wrong = [line for line in found if line["owner"] not in owners]
        check(name, found and not wrong, "%d launches, %d different kernels" % (
            len(found), len({line["kernel"] for line in found})))
        for line in wrong[:20]:
            print("    %(owner)s: %(kernel)s (%(reason)s)" % line)
    computing_names = {line["kernel"] for line in by_window[COMPUTING] if line["owner"] == "torch_move"}
    check("no computing kernel passes for a move", not any(word in name for name in computing_names for word in (
        "neg", "add", "Cat", "reduce", "gemm", "nvjet", "cutlass")), ", ".join(sorted(computing_names))[:300])
    for line in by_window[COMPUTING]:
        print("    %(owner)s, %(proof)s %(name)s, %(image_bytes)d bytes: %(kernel).100s" % line)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=os.path.abspath)
    parser.add_argument("--work", type=os.path.abspath)
    parser.add_argument("--recorded", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    trace = os.path.join(arguments.build, "bin/libkgb_trace.so")
    kgbrun = os.path.join(arguments.build, "bin/_kgbrun.abi3.so")
    if arguments.recorded:
        recorded_process(arguments.work, trace)
        return 0
    arguments.work = arguments.work or tempfile.mkdtemp(prefix="kgb-provenance-")
    cache = os.path.join(arguments.work, "cache")
    os.makedirs(cache, exist_ok=True)
    lib = os.path.join(os.path.dirname(importlib.util.find_spec("torch").origin), "lib")
    libraries = [os.path.join(lib, name) for name in ("libtorch_cuda.so", "libtorch_cuda_linalg.so")]
    libraries = [path for path in libraries if os.path.exists(path)]
    check_index(arguments, libraries)
    started = time.monotonic()
    lines = run_driver(arguments, "serve", "--python", sys.executable, "--data", ROOT, "--kgbrun", kgbrun, "--proofs",
                       os.path.join(arguments.work, "proofs"), "--cache", os.path.join(arguments.work, "index"), "--library",
                       libraries[0], "--record", os.path.join(arguments.work, "record"), "env", "CUDA_INJECTION64_PATH=" + trace,
                       "TRITON_CACHE_DIR=" + cache, sys.executable, os.path.abspath(__file__), arguments.build, "--work",
                       arguments.work, "--recorded")
    print("    recorded and proved: %.1f s" % (time.monotonic() - started))
    check_owners(lines)
    cubins = [line for line in lines if "file" in line]
    for line in cubins:
        print("    %(proof)s %(name)s %(reason)s" % line)
    check("every cubin of the cache is proved", cubins and all(line["proof"] == "triton" for line in cubins),
          "%d of %d" % (sum(line["proof"] == "triton" for line in cubins), len(cubins)))
    print("SUCCESS" if not FAILED else "FAILED: " + ", ".join(FAILED))
    return 1 if FAILED else 0


if __name__ == "__main__":
    sys.exit(main())
