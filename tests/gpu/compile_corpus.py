#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compiles the launches of honest and cheating kernels for a GPU, on a machine without one. A kernel that Triton's interpreter
accepts and its compiler refuses would be refused on a GPU, and the attack would not be tried.

    compile_corpus.py --judge build/release/bin/kgb-judge [--triton DIR] [--only REGEX] [--sm 90] [--jobs N] [--most N]
        [--records DIR] [--data] [--approximate]

The judge judges every kernel of tests/honest and tests/redteam on the CPU, all cases, but not attacks that fail with an error. Its
runners have no jail and record each launch (recording_runner.py). --records keeps the records; a recorded kernel is not judged
again; with --data they have memory, for machine_witness.py. Then the Triton of KGB_PYTHON, or that of the folder DIR, compiles the specializations, at most N of a kernel. Prints one
line for each file, and at most three errors; exit status 0 if every honest file was accepted and all launches compile, 77 without
torch, triton or a sandbox.
"""

import argparse
import concurrent.futures
import hashlib
import importlib.util
import json
import multiprocessing
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "corpus"))
from corpus_files import find_kernels  # noqa: E402
import warm_judge  # noqa: E402
from warm_judge import Zygotes, find_python  # noqa: E402

WALL_S = 900
SHARED_BYTES = 227 << 10  # of one block, with compute capability 9.0


# ---- in a separate process, without TRITON_INTERPRET ----

class Pointer:
    """A tensor in the compiler's form."""

    def __init__(self, dtype, address):
        self.dtype, self.address = dtype, address

    def data_ptr(self):
        return self.address

    def ptr_range(self):
        return 0


class Described:
    """The base of a tensor descriptor."""

    def __init__(self, pointer, shape, strides):
        self.dtype, self.shape, self.strides, self.pointer = pointer.dtype, shape, strides, pointer
        self.ndim = len(shape)

    def data_ptr(self):
        return self.pointer.data_ptr()

    def stride(self):
        return self.strides


def pointer(value, shape=None, strides=None):
    """A recorded tensor as an argument that is only compiled for."""
    import torch
    made_pointer = Pointer(getattr(torch, value[1]), 1 << 32 | value[2])
    return made_pointer if shape is None else Described(made_pointer, shape, strides)


def made(module, value, tensor_of=pointer):
    """recording_runner.Recorder.carried, backwards. `tensor_of` makes a tensor, or one with the shape and strides of a
    descriptor."""
    import torch
    import triton
    import triton.language as tl
    kind = value[0]
    if kind == "tensor":
        return tensor_of(value)
    if kind == "descriptor":
        from triton.tools.tensor_descriptor import TensorDescriptor
        return TensorDescriptor(tensor_of(value[1], value[2], value[3]), value[2], value[3], value[4])
    if kind == "function":
        return functions(module)[value[1]]
    if kind == "tuple":
        return tuple(made(module, one, tensor_of) for one in value[1])
    if kind == "plain":
        return value[1]
    if kind == "torch.dtype":
        return getattr(torch, value[1])
    if kind == "tl.dtype":
        return tl.dtype(value[1])
    if kind == "reinterpreted":
        return triton.reinterpret(made(module, value[1], tensor_of), tl.dtype(value[2]))
    raise ValueError("cannot make %s again" % (value[1],))


def functions(module):
    import triton
    found = {}
    for value in vars(module).values():
        while not isinstance(value, triton.JITFunction) and isinstance(value, triton.runtime.jit.KernelInterface):
            value = value.fn
        if isinstance(value, triton.JITFunction):
            found[value.fn.__qualname__] = value
    return found


def stub_driver(sm=90):
    """Sets enough of a driver to compile."""
    import torch
    from triton.backends.compiler import GPUTarget
    from triton.runtime import driver

    class Stub:
        get_current_device = staticmethod(lambda: 0)
        get_current_stream = staticmethod(lambda device: 0)
        get_current_target = staticmethod(lambda: GPUTarget("cuda", sm, 32))
        get_active_torch_device = staticmethod(lambda: torch.device("cpu"))
        get_device_capability = staticmethod(lambda device=0: (sm // 10, sm % 10))

    driver.set_active(Stub())
    torch.cuda.get_device_capability = Stub.get_device_capability


def load(folder):
    """The kernel's module."""
    spec = importlib.util.spec_from_file_location("kernel", folder / "kernel.py")
    module = sys.modules["kernel"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def compile_folder(folder, sm, most):
    """(variants, errors)"""
    if not (folder / "kernel.py").exists():  # refused before it ran
        return 0, []
    stub_driver(sm)
    module = load(folder)
    launches, errors, n = set(), [], 0
    for path in folder.glob("*.pickle"):
        with path.open("rb") as file:
            while file.peek(1):
                launches.add(pickle.dumps(pickle.load(file)))
    compiled, known = {}, functions(module)
    for launch in sorted(launches, key=lambda text: hashlib.sha256(text).digest()):
        name, args, kwargs, large_grid = pickle.loads(launch)
        try:
            if large_grid:
                raise ValueError("a grid of %s" % large_grid)
            if name not in known:
                raise ValueError("no such function in kernel.py")
            mine = compiled.setdefault(name, set())
            if len(mine) >= most:
                continue
            kernel = known[name].run(*(made(module, arg) for arg in args), grid=(1, 1, 1), warmup=True,
                                     **{key: made(module, value) for key, value in kwargs.items()})
            mine.add(kernel.hash)
            if kernel.metadata.shared > SHARED_BYTES:
                raise ValueError("%d bytes of shared memory" % kernel.metadata.shared)
        except Exception as error:
            causes = [line for line in str(error).splitlines() if line.strip()]
            errors.append("%s: %s %s [%s]" % (name, type(error).__name__, " | ".join(causes[-4:])[:500],
                                              ", ".join(str(arg[1:]) for arg in [*args, *kwargs.values()])[:300]))
            if len(errors) >= most:
                break
    return sum(map(len, compiled.values())), errors


def compile_all(options):
    """Prints a line of JSON for each folder."""
    if options.triton:
        sys.path.insert(0, options.triton)
    with tempfile.TemporaryDirectory(prefix="kgb-triton-") as cache:
        os.environ["TRITON_CACHE_DIR"] = cache
        import torch  # noqa: F401
        import triton
        print(json.dumps(triton.__version__), flush=True)
        with multiprocessing.get_context("fork").Pool(options.jobs, maxtasksperchild=1) as pool:
            waiting = [(path, pool.apply_async(compile_folder, (pathlib.Path(path), options.sm, options.most)))
                       for path in options.compile]
            for path, each in waiting:
                print(json.dumps([path, *each.get(WALL_S)]), flush=True)


# ---- the script ----

def judged(options, python, zygotes, kernel, folder):
    done = warm_judge.ask(options.judge, WALL_S + 60, device="cpu", spec=warm_judge.spec_of(kernel.header["operator"]),
                          kernel=kernel.path, zygotes=zygotes, python=python, timing=False, timeout="%ds" % WALL_S)
    try:
        verdict = json.loads(done.stdout)
    except ValueError:
        verdict = {"status": "exit %d" % done.returncode, "code": None, "message": done.stderr.decode(errors="replace")[-300:]}
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "verdict.json").write_text(json.dumps({key: verdict[key] for key in ("status", "code", "message")}))


def record(options, python, kernels, work):
    """Records the kernels of these folders. False: not possible on this machine."""
    parents = Zygotes(options.judge, work, "cpu", python)
    if not parents.ready:
        return False
    library = pathlib.Path(options.judge).resolve().with_name("_kgbrun.abi3.so")
    argv = [python, "-I", "-B", str(pathlib.Path(__file__).with_name("recording_runner.py")), "--library", str(library),
            "--zygotes", str(work), "--records", str(options.records), *(["--approximate"] if options.approximate else []), *(["--data"] if options.data else [])]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as runner:
        try:
            if runner.stdout.readline().strip() != "ready":
                raise SystemExit("recording_runner.py did not start")
            with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
                list(pool.map(lambda kernel: judged(options, python, work, kernel, kernels[kernel]), kernels))
        finally:
            runner.stdin.close()
            parents.close()
    return True


def tell(kernel, folder, n_variants, errors):
    """Prints the result of a file; whether it is bad."""
    verdict = json.loads((folder / "verdict.json").read_text())
    told = verdict["status"] if verdict["status"] == "passed" else "%s %s %s" % (
        verdict["status"], verdict["code"], str(verdict["message"])[:200])
    refused = kernel.honest and verdict["status"] != "passed" and not kernel.needs_gpu
    bad = refused or bool(errors)
    print("%s %s: %d variants%s, %s%s" % ("not ok" if bad else "ok", kernel.name, n_variants,
                                          ", %d do not compile" % len(errors) if errors else "", told,
                                          " (needs a GPU)" if kernel.needs_gpu else ""))
    for error in errors[:3]:
        print("#     " + error)
    sys.stdout.flush()
    return bad


def compile_recorded(options, python, folders):
    """Exit status."""
    by_path = {str(folder): kernel for kernel, folder in folders.items()}
    argv = [python, "-I", "-B", __file__, "--sm", str(options.sm), "--jobs", str(options.jobs), "--most", str(options.most),
            *(["--triton", options.triton] if options.triton else []), "--compile", *by_path]
    environment = {key: value for key, value in os.environ.items() if key != "TRITON_INTERPRET"}
    n_bad = n_variants = n_files = 0
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, env=environment) as compiler:
        version = json.loads(compiler.stdout.readline())
        for line in compiler.stdout:
            path, n, errors = json.loads(line)
            n_bad += tell(by_path[path], pathlib.Path(path), n, errors)
            n_files += 1
            n_variants += n
    print("# %d files, %d not good; %d variants compiled for sm_%d by Triton %s" % (n_files, n_bad, n_variants, options.sm,
                                                                                    version))
    return 0 if n_bad == 0 and n_files == len(folders) else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--judge")
    parser.add_argument("--triton", help="folder with another Triton's package")
    parser.add_argument("--only", help="regular expression for names")
    parser.add_argument("--sm", type=int, default=90)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--most", type=int, default=24, help="specializations of one kernel")
    parser.add_argument("--records", type=pathlib.Path, help="folder to keep what is launched in")
    parser.add_argument("--approximate", action="store_true", help="float32 functions as inexact as on a GPU")
    parser.add_argument("--data", action="store_true", help="record launches with their memory")
    parser.add_argument("--compile", nargs="*", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.compile is not None:
        compile_all(options)
        return 0
    python = find_python(None)
    if not options.judge or not python:
        print("no --judge, or no Python with torch and triton")
        return 2 if not options.judge else 77
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="kgb-compile-") as work:
        options.records = (options.records or pathlib.Path(work) / "records").resolve()
        folders = {kernel: options.records / hashlib.sha256(kernel.path.read_bytes()).hexdigest()
                   for kernel in find_kernels(options.only) if kernel.honest or not (kernel.may_raise or kernel.hangs)}
        new = {kernel: folder for kernel, folder in folders.items() if not (folder / "verdict.json").exists()}
        if new and not record(options, python, new, pathlib.Path(work) / "zygotes"):
            return 77
        print("# %d files judged on the CPU, %.0f s" % (len(new), time.monotonic() - began), flush=True)
        return compile_recorded(options, python, folders)


if __name__ == "__main__":
    sys.exit(main())
