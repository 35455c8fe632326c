# SPDX-License-Identifier: MIT
"""Stands in for the judge's runners on the CPU, without their jail: records the kernels that a candidate launches in the
interpreter, so that compile_corpus.py can compile them for a GPU.

    python -I -B recording_runner.py --library _kgbrun.abi3.so --zygotes DIR --records DIR [--data] [--approximate]

Takes the place of DIR/runner.sock. For each candidate records/<SHA-256> gets its kernel.py and a file for each process: one
pickle for each launch that differs, (name of the kernel, arguments, keywords, the grid if it is too large for any GPU), tensors
as ("tensor", dtype, address modulo 256). All configurations of an autotuned kernel count as launched. With --data a second file
PID.data has the first launches of each kernel with memory: a dictionary, tensors as ("tensor", dtype, address modulo 256, sizes,
strides, number of the region, offset in it), regions as (address modulo 256, bytes before, bytes after the interpreter ran).
Prints "ready"; ends when stdin closes.
"""

import argparse
import ctypes
import hashlib
import importlib.util
import os
import pathlib
import pickle
import select
import signal
import socket
import sys

LARGEST_GRID = (2**31 - 1, 65535, 65535)
MOST_LAUNCHES = 4  # of a kernel in a process, with memory
MOST_BYTES = 96 << 10  # of one of them
ROOT = pathlib.Path(__file__).resolve().parents[2]
os.environ.update(TRITON_INTERPRET="1", OMP_NUM_THREADS="1")
sys.path[:0] = [str(ROOT / "verify" / "python" / "runner"), str(ROOT / "verify" / "python" / "reference")]


def load_library(path):
    spec = importlib.util.spec_from_file_location("_kgbrun", path)
    module = sys.modules["_kgbrun"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Regions:
    """The memory of a launch's tensors: storages, or what a view spans of a large one."""

    def __init__(self, tensors):
        spans = sorted(self.span(tensor) for tensor in tensors if tensor.numel())
        self.spans = []
        for begin, end in spans:
            if self.spans and begin < self.spans[-1][1]:
                begin, end = self.spans[-1][0], max(end, self.spans.pop()[1])
            self.spans.append((begin, end))

    @staticmethod
    def span(tensor):
        storage = tensor.untyped_storage()
        if storage.nbytes() <= MOST_BYTES:
            return storage.data_ptr(), storage.data_ptr() + storage.nbytes()
        last = sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride()))
        return tensor.data_ptr(), tensor.data_ptr() + (last + 1) * tensor.element_size()

    def place(self, tensor):
        """(number of the region, offset in it)"""
        for i, (begin, end) in enumerate(self.spans):
            if begin <= tensor.data_ptr() < end:
                return i, tensor.data_ptr() - begin
        return None, 0

    def read(self):
        return [ctypes.string_at(begin, end - begin) for begin, end in self.spans]


def tensors_of(value):
    import torch
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, tuple):
        for one in value:
            yield from tensors_of(one)
    elif hasattr(value, "base"):
        yield from tensors_of(value.base)


def grid_of(function, args, kwargs):
    grid = function.grid
    return grid({**dict(zip(function.arg_names, args)), **kwargs}) if callable(grid) else grid


class Recorder:
    """Of one process and its candidate."""

    def __init__(self):
        self.file, self.data, self.seen, self.trying, self.counts = None, None, set(), False, {}

    def begin(self, folder, source, with_data):
        folder = pathlib.Path(folder) / hashlib.sha256(source).hexdigest()
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "kernel.py").write_bytes(source)
        self.file = open(folder / ("%d.pickle" % os.getpid()), "ab")
        self.data = open(folder / ("%d.data" % os.getpid()), "ab") if with_data else None

    def carried(self, value, regions=None):
        """The value in a form that another process can make again."""
        import torch
        from triton.runtime.interpreter import InterpretedFunction
        from triton.tools.tensor_descriptor import TensorDescriptor
        if isinstance(value, torch.Tensor):
            kind = "tensor", str(value.dtype).partition(".")[2], value.data_ptr() % 256
            return kind if regions is None else (*kind, list(value.shape), list(value.stride()), *regions.place(value))
        if isinstance(value, TensorDescriptor):
            return ("descriptor", self.carried(value.base, regions), list(value.shape), list(value.strides),
                    list(value.block_shape))
        if isinstance(value, InterpretedFunction):
            return "function", value.fn.__qualname__
        if isinstance(value, tuple):
            return "tuple", [self.carried(one, regions) for one in value]
        if value is None or isinstance(value, (bool, int, float, str)):
            return "plain", value
        if isinstance(value, torch.dtype):
            return "torch.dtype", str(value).partition(".")[2]
        if type(value).__name__ == "dtype":  # triton.language.dtype
            return "tl.dtype", value.name
        if hasattr(value, "base") and hasattr(value, "dtype"):  # triton.reinterpret
            return "reinterpreted", self.carried(value.base, regions), value.dtype.name
        return "unknown", repr(value)

    def write(self, function, args, kwargs):
        """Whether this launch is new."""
        grid = grid_of(function, args, kwargs)
        too_large = any(size > most for size, most in zip(grid, LARGEST_GRID))
        found = pickle.dumps((function.fn.__qualname__, [self.carried(arg) for arg in args],
                              {key: self.carried(value) for key, value in kwargs.items()}, str(grid) if too_large else None))
        if found in self.seen or not self.file:
            return False
        self.seen.add(found)
        self.file.write(found)
        self.file.flush()
        return True

    def write_data(self, function, args, kwargs, launch):
        """Runs the launch, and records it with the memory before and after. Large and numerous ones just run."""
        name = function.fn.__qualname__
        regions = Regions([tensor for value in (*args, *kwargs.values()) for tensor in tensors_of(value)])
        if self.counts.get(name, 0) >= MOST_LAUNCHES or sum(end - begin for begin, end in regions.spans) > MOST_BYTES:
            return launch()
        self.counts[name] = self.counts.get(name, 0) + 1
        before = regions.read()
        record = {"name": name, "args": [self.carried(arg, regions) for arg in args],
                  "kwargs": {key: self.carried(value, regions) for key, value in kwargs.items()}, "grid": tuple(grid_of(function, args, kwargs))}
        result = launch()
        record["regions"] = [(begin % 256, *bytes_) for (begin, _), *bytes_ in zip(regions.spans, before, regions.read())]
        pickle.dump(record, self.data)
        self.data.flush()
        return result


RECORDER = Recorder()


def hook():
    """Behind the runner's own hooks."""
    import triton.runtime.autotuner as autotuner
    import triton.runtime.interpreter as interpreter
    launch, tune = interpreter.GridExecutor.__call__, autotuner.Autotuner.run

    def recorded_launch(self, *args, **kwargs):
        is_new = RECORDER.write(self, args, kwargs)
        if RECORDER.trying:
            return None
        if is_new and RECORDER.data:
            return RECORDER.write_data(self, args, kwargs, lambda: launch(self, *args, **kwargs))
        return launch(self, *args, **kwargs)

    def recorded_tuning(self, *args, **kwargs):
        self.nargs = dict(zip(self.arg_names, args))
        RECORDER.trying = True
        for config in self.prune_configs(kwargs):
            self.fn.run(*args, **{**kwargs, **config.all_kwargs()})
        RECORDER.trying = False
        return tune(self, *args, **kwargs)

    interpreter.GridExecutor.__call__ = recorded_launch
    autotuner.Autotuner.run = recorded_tuning


def approximate():
    """float32 functions as inexact as Triton makes them on a GPU: exp by ex2.approx of a rounded product, div.full,
    sqrt.approx, rsqrt.approx, libdevice's others. Errors are as large as they may be there, but other ones."""
    import numpy as np
    import triton.language as tl
    import triton.runtime.interpreter as interpreter
    builder = interpreter.InterpreterBuilder
    least, log2_e = np.float32(2.0 ** -126), np.float32(1.4426950408889634)

    def flushed(x):
        return np.where(np.abs(x) < least, np.copysign(np.float32(0), x), x)

    def inexact(x, largest):
        part = (np.ascontiguousarray(x, np.float32).view(np.uint32) * np.uint32(2654435761) >> np.uint32(8)) / 2.0 ** 23 - 1
        return (np.asarray(x, np.float64) * (1 + largest * part)).astype(np.float32)

    def replace(name, largest, before=flushed, after=flushed, function=None):
        exact = getattr(builder, name)

        def approximated(self, *args):
            if any(arg.dtype.scalar != tl.float32 for arg in args):
                return exact(self, *args)
            values = [before(arg.data) for arg in args]
            result = function(*values) if function else exact(self, *(
                interpreter.TensorHandle(value, tl.float32) for value in values)).data
            return interpreter.TensorHandle(after(inexact(result, largest)), tl.float32)

        setattr(builder, name, approximated)

    def same(x):
        return x

    replace("create_exp", 2.0 ** -23, same, same, lambda x: np.exp2((x * log2_e).astype(np.float64)))
    replace("create_fdiv", 2.0 ** -22.5, same, same)
    for name, largest in (("exp2", 2.0 ** -22.5), ("sqrt", 2.0 ** -23), ("rsqrt", 2.0 ** -22.5), ("log", 2.0 ** -23),
                          ("log2", 2.0 ** -23), ("sin", 2.0 ** -23), ("cos", 2.0 ** -23), ("erf", 2.0 ** -23)):
        replace("create_" + name, largest)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--approximate", action="store_true")
    parser.add_argument("--data", action="store_true")
    parser.add_argument("--library", required=True)
    parser.add_argument("--zygotes", type=pathlib.Path, required=True)
    parser.add_argument("--records", type=pathlib.Path, required=True)
    options = parser.parse_args()
    library = load_library(options.library)
    library.give_up_privileges = lambda *_: None
    import runner
    import zygote
    zygote.JAILED = ()
    runner.prepare()
    hook()
    if options.approximate:
        approximate()
    init = runner.Runner.__init__

    def begin(self, source):
        RECORDER.begin(options.records, source, options.data)
        runner.KERNEL_PATH = str(options.records / ("%d.py" % os.getpid()))
        init(self, source)

    runner.Runner.__init__ = begin
    hello = zygote.versions("runner")
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    (options.zygotes / "runner.sock").unlink()
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(str(options.zygotes / "runner.sock"))
    listener.listen(64)
    print("ready", flush=True)
    while True:
        ready, _, _ = select.select([listener, sys.stdin], [], [])
        if sys.stdin in ready:
            return
        control, _ = listener.accept()
        zygote.forked(lambda: (listener.close(),
                               zygote.run_supervisor(lambda: zygote.supervise("runner", control, hello), control)))
        control.close()


if __name__ == "__main__":
    main()
