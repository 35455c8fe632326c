# SPDX-License-Identifier: MIT
"""The cuda platform of the runner: real launches on a GPU. This module checks and counts nothing: a library that the driver
loads records the work between begin and end (verify/trace), and the judge proves the record.
"""

import contextlib
import ctypes
import mmap
import os
import random

import torch
import triton
import triton.language  # noqa: F401
import triton.testing

import deferred
import gpu_moves
import launcher
import memory
import only_records
import remote
import tuner
import warm

LIBRARY = "/kgb/lib/libkgb_trace.so"
BRIEF_MS = 2


# Kernels on a GPU fail by an exception of torch or by the end of the process.
OUT_OF_BOUNDS = NOT_EXECUTABLE = ()
TRACE = None


def load_library():
    library = ctypes.CDLL(LIBRARY)
    library.kgb_trace_status.restype = ctypes.c_char_p
    library.kgb_trace_open.argtypes = (ctypes.c_int, ctypes.c_uint64)
    library.kgb_trace_begin.argtypes = (ctypes.c_uint32,)
    library.kgb_trace_arena_map.argtypes = (ctypes.c_uint64, ctypes.c_int)
    for name in ("kgb_trace_arena_write", "kgb_trace_arena_read"):
        getattr(library, name).argtypes = (ctypes.c_uint64, ctypes.c_void_p, ctypes.c_uint64)
    for name in ("kgb_trace_poison", "kgb_trace_call"):
        getattr(library, name).argtypes, getattr(library, name).restype = (ctypes.c_int,), None
    number, size = ctypes.c_uint32, ctypes.c_uint64
    library.kgb_trace_load.argtypes = (ctypes.c_char_p, size, ctypes.POINTER(number))
    library.kgb_trace_ops.argtypes, library.kgb_trace_ops.restype = (), size
    library.kgb_trace_move.argtypes = (size, ctypes.c_char_p, size, ctypes.c_char_p, size)
    library.kgb_trace_launch.argtypes = (number, ctypes.c_char_p, ctypes.POINTER(number), number, size, ctypes.c_char_p, size)
    return library


class Trace:
    """The record of calls that are only recorded."""

    def load(self, image):
        number = ctypes.c_uint32()
        checked(TRACE.kgb_trace_load(image, len(image), ctypes.byref(number)))
        return number.value

    def launch(self, kernel, name, grid, n_threads, stream, params):
        checked(TRACE.kgb_trace_launch(kernel, name.encode(), (ctypes.c_uint32 * 3)(*grid), n_threads, stream, params, len(params)))

    def ops(self):
        return TRACE.kgb_trace_ops()

    def move(self, first, name, stream, params):
        checked(TRACE.kgb_trace_move(first, name.encode(), stream, params, len(params)))


def take_over_memory():
    """Make torch allocate every block from the library from now on. Called before CUDA starts."""
    global TRACE
    TRACE = load_library()
    allocator = torch.cuda.memory.CUDAPluggableAllocator(LIBRARY, "kgb_trace_malloc", "kgb_trace_free")
    torch.cuda.memory.change_current_allocator(allocator)


def benchmark(call, **options):
    """The benchmark of @triton.autotune: Triton's own where times count, a short one where only results are checked."""
    if only_records.STATE.on:
        return tuner.benchmark(call, **options)
    if not Platform.tunes:
        options = {"warmup": BRIEF_MS, "rep": BRIEF_MS, **options}
    return triton.testing.do_bench(call, **options)


def prepare():
    """Called once, in the zygote. Makes no CUDA context, because a fork would lose it."""
    if not torch.backends.cuda.is_built():
        raise RuntimeError("torch %s was built without CUDA" % torch.__version__)
    take_over_memory()
    launcher.install()
    remote.install()
    deferred.install(Trace())
    gpu_moves.prepare(Trace())
    from triton.backends.nvidia import driver
    utils = driver.CudaUtils()  # compiles a module of Triton's own; every call does
    driver.CudaUtils = lambda: utils
    driver.CudaDriver.get_benchmarker = lambda self: benchmark
    warm.compile_once()


def warm_up():
    """Called once, in a spare worker: everything that needs a CUDA context."""
    torch.cuda.init()
    torch.cuda.synchronize()
    warm.launch_once()


def compile_by(fd):
    """Request machine code from the judge at the other end of this socket."""
    remote.use(fd)


def checked(status):
    if status != 0:
        text = TRACE.kgb_trace_status().decode("utf-8", "replace")
        raise MemoryError(text) if "CUDA_ERROR_OUT_OF_MEMORY" in text else RuntimeError(text)


class Memory:
    """Device memory at an address, for torch.as_tensor."""

    def __init__(self, address, n_bytes):
        self.__cuda_array_interface__ = {"shape": (n_bytes,), "typestr": "|u1", "data": (address, False), "version": 2}


class Platform:
    """A worker's memory, and its way to run the candidate."""

    device = "cuda"
    tunes = False

    def __init__(self):
        self.host = None
        self.host_address = 0
        self.arena_bytes = 0
        self.out = None
        self.out_bytes = 0
        self.out_address = 0
        # A fault of the machine shows here, before any code of the candidate has run.
        torch.cuda.init()
        checked(TRACE.kgb_trace_arena_map(1, 0))  # makes the context
        status = TRACE.kgb_trace_status().decode("utf-8", "replace")
        if not status.startswith("ready"):
            raise RuntimeError("no trace of the GPU's work: %s" % status)

    def map(self, request, fds):
        self.host = mmap.mmap(fds[0], request["arena_bytes"])
        self.host_address = memory.address_of(self.host)
        self.out = mmap.mmap(fds[1], request["out_bytes"])
        self.out_address = memory.address_of(self.out)
        self.arena_bytes, self.out_bytes = request["arena_bytes"], request["out_bytes"]
        checked(TRACE.kgb_trace_arena_map(self.arena_bytes, 0))
        for fd in fds:
            os.close(fd)

    def record(self, request, fd):
        """Record the work of calls to this descriptor from now on."""
        checked(TRACE.kgb_trace_open(fd, request["max_bytes"]))

    def device_of(self, tensor):
        return tensor.device.type

    def tensor(self, arg):
        dtype = memory.TORCH_DTYPES[arg["dtype"]]
        if arg["elements"] == 0:
            return torch.empty_strided(arg["sizes"], arg["strides"], dtype=dtype, device="cuda")
        raw = Memory(memory.ARENA_ADDRESS + arg["at"], arg["elements"] * dtype.itemsize)
        storage = torch.as_tensor(raw, device="cuda").view(dtype)
        return torch.as_strided(storage, arg["sizes"], arg["strides"], arg["first"])

    @contextlib.contextmanager
    def loading(self, request):
        yield

    @contextlib.contextmanager
    def calling(self, request):
        fill = request["fill"]
        TRACE.kgb_trace_poison(random.Random(request["seed"]).randrange(256) if fill is None else fill)
        parts = list(zip(request["parts"][::2], request["parts"][1::2]))
        for at, n_bytes in parts:
            checked(TRACE.kgb_trace_arena_write(at, self.host_address + at, n_bytes))
        Platform.tunes = request["tune"]
        only_records.STATE.begin_call(request["only_records"])
        window = request.get("window", 0)
        TRACE.kgb_trace_call(request["only_records"] and window > 0)
        if window:
            checked(TRACE.kgb_trace_begin(window))
        with gpu_moves.Watch() if request["only_records"] else contextlib.nullcontext():
            yield
        torch.cuda.synchronize()
        if window:
            checked(TRACE.kgb_trace_end())
        for at, n_bytes in parts if request["back"] else ():
            checked(TRACE.kgb_trace_arena_read(at, self.host_address + at, n_bytes))

    @contextlib.contextmanager
    def repeating(self, request):
        with self.calling({**request, "window": 0}):
            yield

    def log_to(self, reply):
        """The judge finds all in the record."""

    def place(self, tensor):
        return memory.place(tensor, self.arena_bytes)

    def copy_out(self, tensor, start):
        host = tensor.detach().contiguous().cpu()
        ctypes.memmove(self.out_address + start, host.data_ptr(), host.numel() * host.element_size())
