# SPDX-License-Identifier: MIT
"""A runner's driver and recorder on the CPU, as a library (verify/trace/cpu/cpu_trace.h), and torch's memory in the library's
pool."""

import ctypes
import weakref

import torch

import memory
import move_words
import only_records

PATH = "/kgb/lib/libkgb_cpu_trace.so"
POOL_ADDRESS, POOL_BYTES = 0x2acb00000000, 1 << 40  # KGB_POOL_ADDRESS, KGB_POOL_BYTES
READ_WRITE = 0x200  # PyBUF_WRITE
FAULT, UNKNOWN = -2, -3  # enum kgb_cpu_trace_result

LIBRARY = None
FROM_MEMORY = ctypes.pythonapi.PyMemoryView_FromMemory
FROM_MEMORY.argtypes, FROM_MEMORY.restype = (ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_int), ctypes.py_object


class Fault(Exception):
    """The machine ended a kernel for a fault; `line` of kernel.py, 0 unknown."""

    def __init__(self, text, line):
        super().__init__(text)
        self.line = line


class NotExecutable(Exception):
    """The machine lacks an operation of a kernel."""


def open_library():
    """Called once, in the zygote."""
    global LIBRARY
    library = ctypes.CDLL(PATH)
    address, number, byte_count = ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint64
    for name, arguments, result in (
            ("status", (), ctypes.c_char_p), ("take", (byte_count,), address), ("give", (address,), ctypes.c_int),
            ("poison", (ctypes.c_int,), None), ("arena", (byte_count,), None), ("open", (ctypes.c_int, byte_count), ctypes.c_int),
            ("begin", (number,), ctypes.c_int), ("end", (), ctypes.c_int),
            ("load", (ctypes.c_char_p, byte_count, ctypes.POINTER(number)), ctypes.c_int),
            ("launch", (number, ctypes.POINTER(number), number, ctypes.c_char_p, byte_count), ctypes.c_int),
            ("run", (number, ctypes.POINTER(number), ctypes.c_char_p, byte_count, byte_count), ctypes.c_int),
            ("fault_line", (), ctypes.c_int), ("move", (ctypes.c_char_p, ctypes.c_char_p, byte_count), None),
            ("upload", (address, byte_count), None), ("download", (address, byte_count), None),
            ("unsupported", (ctypes.c_char_p,), None)):
        function = getattr(library, "kgb_cpu_trace_" + name)
        function.argtypes, function.restype = arguments, result
    LIBRARY = library


def status():
    return LIBRARY.kgb_cpu_trace_status().decode("utf-8", "replace")


def checked(result):
    if result == FAULT:
        raise Fault(status(), LIBRARY.kgb_cpu_trace_fault_line())
    if result == UNKNOWN:
        raise NotExecutable(status())
    if result != 0:
        raise RuntimeError(status())


# ---- windows and kernels ----

def poison(byte):
    LIBRARY.kgb_cpu_trace_poison(byte)


def arena(n_bytes):
    LIBRARY.kgb_cpu_trace_arena(n_bytes)


def open_record(fd, max_bytes):
    checked(LIBRARY.kgb_cpu_trace_open(fd, max_bytes))


def begin(window):
    checked(LIBRARY.kgb_cpu_trace_begin(window))


def end():
    checked(LIBRARY.kgb_cpu_trace_end())


def load(image):
    """The number of a kernel."""
    number = ctypes.c_uint32()
    checked(LIBRARY.kgb_cpu_trace_load(image, len(image), ctypes.byref(number)))
    return number.value


def launch(kernel, grid, n_threads, params):
    """Record a launch."""
    checked(LIBRARY.kgb_cpu_trace_launch(kernel, (ctypes.c_uint32 * 3)(*grid), n_threads, params, len(params)))


def run(kernel, grid, params, seed):
    checked(LIBRARY.kgb_cpu_trace_run(kernel, (ctypes.c_uint32 * 3)(*grid), params, len(params), seed))


# ---- torch's memory ----

BLOCKS = {}  # address of a block: a weak reference that gives the block back when its last tensor is gone


def block(n_bytes):
    """Memory of the pool, for as long as the object or a tensor in it lives."""
    address = LIBRARY.kgb_cpu_trace_take(n_bytes)
    if not address:
        raise MemoryError(status())
    view = FROM_MEMORY(address, n_bytes, READ_WRITE)

    def give(_):
        del BLOCKS[address]
        LIBRARY.kgb_cpu_trace_give(address)

    BLOCKS[address] = weakref.ref(view, give)
    return view


def tensor_like(like):
    """A tensor of the pool with the type, sizes and strides of `like`, which has elements; its contents are poison."""
    sizes, strides = tuple(like.size()), tuple(like.stride())
    n_elements = memory.reach_of(sizes, strides)
    storage = memory.SHARED(block(n_elements * like.element_size()), dtype=like.dtype)
    return torch.as_strided(storage, sizes, strides, 0)


def holds(tensor):
    """Whether this tensor lies in the arena or the pool."""
    address = tensor.data_ptr()
    return POOL_ADDRESS <= address < POOL_ADDRESS + POOL_BYTES or memory.ARENA_ADDRESS <= address < memory.ARENA_END


# ---- torch's work ----

def fill(tensor):
    """Record that all elements of `tensor` have been set to their present value."""
    if tensor.numel() == 0 or not holds(tensor):
        return
    record_move("fill", *move_words.fill(tensor, ctypes.string_at(tensor.data_ptr(), tensor.element_size())))


def copy(target, source):
    """Record that `source`, which can be expanded to the sizes of `target`, has been copied to `target`."""
    if target.numel() == 0:
        return
    if not holds(target):
        download(source)
        return
    if not holds(source):
        (fill if source.numel() == 1 else upload)(target)
        return
    record_move("copy", *move_words.copy(target, source))


def record_move(name, params, why):
    if why:
        unsupported(why)
    else:
        LIBRARY.kgb_cpu_trace_move(name.encode(), params, len(params))


def span(tensor):
    return tensor.data_ptr(), memory.reach_of(tuple(tensor.size()), tuple(tensor.stride())) * tensor.element_size()


def upload(tensor):
    """Record that the host has written the present elements of `tensor`."""
    if tensor.numel() == 0 or not holds(tensor):
        return
    address, n_bytes = span(tensor)
    if n_bytes != tensor.numel() * tensor.element_size():
        unsupported("upload to a tensor with gaps")
        return
    LIBRARY.kgb_cpu_trace_upload(address, n_bytes)


def download(tensor):
    """Record that the host reads elements of `tensor`."""
    if tensor.numel() and holds(tensor):
        if only_records.STATE.on:
            only_records.refuse()
        LIBRARY.kgb_cpu_trace_download(*span(tensor))


def unsupported(why):
    LIBRARY.kgb_cpu_trace_unsupported(why.encode("ascii", "replace"))
