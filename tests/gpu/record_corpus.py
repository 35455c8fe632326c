#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Records what the honest kernels launch on the CPU, for machine_witness.py and text_mutants.py.

    record_corpus.py --judge build/release/bin/kgb-judge --records DIR [--only REGEX] [--jobs N]

The judge judges the kernels of tests/honest on the CPU, all cases. Its runners have no jail here and write to DIR/<SHA-256 of
kernel.py>/: kernel.py, SHA.image for each image that was loaded (those of all configurations of an autotuner), and PID.launches, a
pickle for each launch: {"image": SHA, "grid", "params": words, "regions": [(address, bytes before, bytes after)]}. These are the
first launches of each kernel that differ in more than data, up to 96 KiB each; the machine made the bytes after. Exit status 0 if
every kernel passed, 77 without torch, triton or a sandbox.
"""

import argparse
import collections
import concurrent.futures
import ctypes
import hashlib
import importlib.util
import json
import os
import pathlib
import pickle
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "corpus"))
from corpus_files import find_kernels  # noqa: E402
import warm_judge  # noqa: E402

WALL_S = 900
MOST_LAUNCHES = 4  # of a kernel in a process
MOST_BYTES = 96 << 10  # of one of them


# ---- in place of the judge's runners ----

class Recorder:
    """Of one process and its candidate."""

    def __init__(self, cpu_trace):
        self.cpu_trace, self.load_image, self.launch_kernel = cpu_trace, cpu_trace.load, cpu_trace.launch
        self.folder, self.names, self.seen, self.counts = None, {}, set(), collections.Counter()
        self.arguments = {}  # address in the arena: bytes

    def begin(self, records, source):
        self.folder = records / hashlib.sha256(source).hexdigest()
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "kernel.py").write_bytes(source)

    def load(self, image):
        number, name = self.load_image(image), hashlib.sha256(image).hexdigest()
        (self.folder / (name + ".image")).write_bytes(image)
        self.names[number] = name
        return number

    def regions(self, words):
        """(address, bytes) of the memory that parameters point into: blocks of the pool, arguments in the arena."""
        blocks = {address: block().nbytes for address, block in list(self.cpu_trace.BLOCKS.items()) if block()}
        blocks.update(self.arguments)
        return sorted({(address, size) for address, size in blocks.items() for word in words if address <= word < address + size})

    def launch(self, kernel, grid, n_threads, params, seed):
        words = struct.unpack("<%dQ" % (len(params) // 8), params)
        name, regions = self.names[kernel], self.regions(words)
        places = {address: i for i, (address, _) in enumerate(regions)}
        key = name, grid, [places.get(word, word) for word in words], [size for _, size in regions]
        before = None
        if repr(key) not in self.seen and self.counts[name] < MOST_LAUNCHES and sum(size for _, size in regions) <= MOST_BYTES:
            self.seen.add(repr(key))
            self.counts[name] += 1
            before = [ctypes.string_at(*region) for region in regions]
        self.launch_kernel(kernel, grid, n_threads, params, seed)
        if before is not None:
            after = [(address, old, ctypes.string_at(address, size)) for (address, size), old in zip(regions, before)]
            with open(self.folder / ("%d.launches" % os.getpid()), "ab") as file:
                pickle.dump({"image": name, "grid": grid, "params": words, "regions": after}, file)


def prepare(folder, records):
    """The runner's modules, recording, without a jail. `folder` has their libraries."""
    sys.path[:0] = [str(ROOT / "verify" / "python" / "runner"), str(ROOT / "verify" / "python" / "reference")]
    spec = importlib.util.spec_from_file_location("_kgbrun", folder / "_kgbrun.abi3.so")
    library = sys.modules["_kgbrun"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(library)
    library.give_up_privileges = lambda *_: None
    import torch
    import cpu_trace
    import memory
    cpu_trace.PATH = str(folder / "libkgb_cpu_trace.so")
    import runner
    import zygote
    torch.set_num_threads(1)
    zygote.JAILED = ()
    runner.prepare()
    recorder = Recorder(cpu_trace)
    cpu_trace.load, cpu_trace.launch = recorder.load, recorder.launch

    class Recording(runner.Runner):
        def __init__(self, source):
            recorder.begin(records, source)
            runner.KERNEL_PATH = str(records / ("%d.py" % os.getpid()))
            super().__init__(source)

        def do_call(self, request, fds):
            recorder.arguments.clear()
            return super().do_call(request, fds)

        def argument(self, arg):
            value = super().argument(arg)
            if arg["kind"] == "tensor" and arg["elements"]:
                recorder.arguments[memory.ARENA_ADDRESS + arg["at"]] = arg["elements"] * value.element_size()
            return value

    runner.Runner = Recording
    return zygote


def stand_in(options):
    """Takes the place of the socket of runners; says `ready`, and ends when stdin closes."""
    zygote = prepare(options.stand_in, options.records)
    hello, path = zygote.versions("runner"), options.zygotes / "runner.sock"
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    path.unlink()
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(str(path))
    listener.listen(64)
    print("ready", flush=True)
    while sys.stdin not in select.select([listener, sys.stdin], [], [])[0]:
        control, _ = listener.accept()
        zygote.forked(lambda: (listener.close(),
                               zygote.run_supervisor(lambda: zygote.supervise("runner", control, hello), control)))
        control.close()


# ---- the script ----

def judged(options, python, zygotes, kernel):
    """What is wrong with the verdict, or None."""
    done = warm_judge.ask(options.judge, WALL_S + 60, device="cpu", spec=warm_judge.spec_of(kernel.header["operator"]),
                          kernel=kernel.path, zygotes=zygotes, python=python, timing=False, timeout="%ds" % WALL_S)
    try:
        verdict = json.loads(done.stdout)
    except ValueError:
        return "exit %d: %s" % (done.returncode, done.stderr.decode(errors="replace")[-300:])
    return None if verdict["status"] == "passed" else "%(status)s %(code)s %(message)s" % verdict


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--judge", required=True)
    parser.add_argument("--records", type=pathlib.Path, required=True)
    parser.add_argument("--only", help="regular expression for names")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--stand-in", type=pathlib.Path, help=argparse.SUPPRESS)
    parser.add_argument("--zygotes", type=pathlib.Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.records = options.records.resolve()
    if options.stand_in:
        return stand_in(options)
    python = warm_judge.find_python(None)
    if not python:
        return 77
    kernels = [kernel for kernel in find_kernels(options.only) if kernel.honest]
    with tempfile.TemporaryDirectory(prefix="kgb-record-") as work:
        zygotes = pathlib.Path(work) / "zygotes"
        parents = warm_judge.Zygotes(options.judge, zygotes, "cpu", python)
        if not parents.ready:
            return 77
        argv = [python, "-I", "-B", __file__, "--judge", options.judge, "--records", str(options.records), "--zygotes", str(zygotes),
                "--stand-in", str(pathlib.Path(options.judge).resolve().parent)]
        with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                              env={**os.environ, "OMP_NUM_THREADS": "1", "TRITON_DEFAULT_FP_FUSION": "1"}) as runner:
            try:
                if runner.stdout.readline().strip() != "ready":
                    raise SystemExit("the stand-in for runners did not start")
                with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
                    found = list(pool.map(lambda kernel: judged(options, python, zygotes, kernel), kernels))
            finally:
                runner.stdin.close()
                parents.close()
    for kernel, wrong in zip(kernels, found):
        if wrong:
            print("not ok %s: %s" % (kernel.name, wrong))
    print("# %d kernels judged, %d did not pass" % (len(kernels), sum(map(bool, found))))
    return 1 if any(found) or not found else 0


if __name__ == "__main__":
    sys.exit(main())
