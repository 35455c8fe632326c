# SPDX-License-Identifier: MIT
"""Checks libkgb_trace.so on a machine with a GPU, torch and triton: runs known work in windows, reads the records with a
separate reader, and compares. Prints one line per check, PASS, FAIL or SKIP; exit status 0 when no check failed.

    python3 tests/gpu/trace_check.py <build>/bin/libkgb_trace.so [--keep RECORD] [--verbose]
"""

import argparse
import ctypes
import glob
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "helpers"))
from records import read_record  # noqa: E402


def address(name):
    """A constant of verify/protocol/record.h."""
    text = (ROOT / "verify/protocol/record.h").read_text(encoding="utf-8")
    return int(re.search(rf"#define {name} UINT64_C\((0x[0-9a-f]+)\)", text)[1], 16)


ARENA, POOL = address("KGB_ARENA_ADDRESS"), address("KGB_POOL_ADDRESS")
POOL_END = POOL + (1 << 40)
MIB = 1 << 20
ELF, FATBIN = b"\x7fELF", bytes.fromhex("50ed55ba")


# ---- Results ----

class Checks:
    def __init__(self, verbose):
        self.n_failed = self.n_passed = 0
        self.verbose = verbose

    def that(self, fact, name, detail=""):
        if fact:
            self.n_passed += 1
        else:
            self.n_failed += 1
        print(f"{'PASS' if fact else 'FAIL'} {name}" + (f"   [{detail}]" if detail and (not fact or self.verbose) else ""),
              flush=True)
        return bool(fact)

    def skip(self, name, why):
        print(f"SKIP {name}: {why}", flush=True)


def describe(op):
    fields = dict(op.fields)
    for key in ("params", "data"):
        if key in fields:
            fields[key] = f"{len(fields[key])} bytes"
    if "attrs" in fields:
        fields["attrs"] = [number for number, _ in fields["attrs"]]
    text = " ".join(f"{key}={value:#x}" if key in ("dst", "src", "event") else f"{key}={str(value)[:70]}"
                    for key, value in fields.items())
    return f"    {op.kind:12} stream={op.stream:#x} {text}"


def words(op):
    data = op.fields["params"]
    return [struct.unpack_from("<Q", data, at)[0] for at in range(0, len(data) - 7, 8)]


# ---- The library ----

class Trace:
    def __init__(self, path):
        self.lib = ctypes.CDLL(path)
        self.lib.kgb_trace_status.restype = ctypes.c_char_p
        self.lib.kgb_trace_open.argtypes = (ctypes.c_int, ctypes.c_uint64)
        self.lib.kgb_trace_begin.argtypes = (ctypes.c_uint32,)
        self.lib.kgb_trace_arena_map.argtypes = (ctypes.c_uint64, ctypes.c_int)
        for name in ("kgb_trace_arena_write", "kgb_trace_arena_read"):
            getattr(self.lib, name).argtypes = (ctypes.c_uint64, ctypes.c_void_p, ctypes.c_uint64)
        self.lib.kgb_trace_poison.restype = None
        self.fd = -1
        self.number = 0

    def status(self):
        return self.lib.kgb_trace_status().decode("utf-8", "replace")

    def call(self, name, *args):
        if getattr(self.lib, "kgb_trace_" + name)(*args) != 0:
            raise RuntimeError(f"{name}: {self.status()}")

    def open(self, max_bytes=256 * MIB):
        self.fd = os.memfd_create("record")
        self.call("open", self.fd, max_bytes)
        self.number = 0

    def read(self):
        return read_record(os.pread(self.fd, os.fstat(self.fd).st_size, 0))

    def window(self, work, read=True):
        self.number += 1
        self.call("begin", self.number)
        result = work()
        self.call("end")
        if not read:
            return result
        windows, images = self.read()
        return windows[self.number], images, result


def find_cupti():
    """A fallback for the library: the wheel that torch brings."""
    for folder in sys.path:
        found = glob.glob(os.path.join(folder, "nvidia", "**", "libcupti.so.1[23]"), recursive=True)
        if found:
            return found[0]
    return ""


def microseconds(work, synchronize, n=2000):
    for _ in range(50):
        work()
    synchronize()
    best = []
    for _ in range(5):
        start = time.perf_counter()
        for _ in range(n // 5):
            work()
        best.append((time.perf_counter() - start) / (n // 5) * 1e6)
        synchronize()
    return sorted(best)[2]


# ---- The work ----

def make_kernels():
    import triton
    import triton.language as tl

    @triton.jit
    def add_kernel(x, y, out, n, BLOCK: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(out + at, tl.load(x + at, mask=at < n) + tl.load(y + at, mask=at < n), mask=at < n)

    @triton.jit
    def total_kernel(x, out, n, BLOCK: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.atomic_add(out, tl.sum(tl.load(x + at, mask=at < n, other=0.0)))

    @triton.autotune(configs=[triton.Config({"BLOCK": block}) for block in (128, 256, 512)], key=["n"])
    @triton.jit
    def tuned_kernel(x, out, n, BLOCK: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(out + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)

    return add_kernel, total_kernel, tuned_kernel


class Driver:
    """Functions of the CUDA driver that torch does not offer."""

    def __init__(self, torch):
        self.lib = ctypes.CDLL("libcuda.so.1")
        self.torch = torch

    def __call__(self, name, *args):
        result = getattr(self.lib, name)(*args)
        if result != 0:
            raise RuntimeError(f"{name}: CUDA error {result}")

    def stream(self):
        return ctypes.c_void_p(self.torch.cuda.current_stream().cuda_stream)


class Copy2D(ctypes.Structure):
    _fields_ = [("src_x", ctypes.c_size_t), ("src_y", ctypes.c_size_t), ("src_type", ctypes.c_int),
                ("src_host", ctypes.c_void_p), ("src_device", ctypes.c_uint64), ("src_array", ctypes.c_void_p),
                ("src_pitch", ctypes.c_size_t), ("dst_x", ctypes.c_size_t), ("dst_y", ctypes.c_size_t),
                ("dst_type", ctypes.c_int), ("dst_host", ctypes.c_void_p), ("dst_device", ctypes.c_uint64),
                ("dst_array", ctypes.c_void_p), ("dst_pitch", ctypes.c_size_t), ("width", ctypes.c_size_t),
                ("height", ctypes.c_size_t)]


class Session:
    def __init__(self, path, verbose):
        import torch
        self.torch = torch
        self.check = Checks(verbose)
        self.trace = Trace(path)
        self.add_kernel, self.total_kernel, self.tuned_kernel = make_kernels()
        allocator = torch.cuda.memory.CUDAPluggableAllocator(path, "kgb_trace_malloc", "kgb_trace_free")
        torch.cuda.memory.change_current_allocator(allocator)
        print("before CUDA:", self.trace.status())
        self.trace.call("arena_map", 64 * MIB, 0)
        torch.cuda.init()
        self.cu = Driver(torch)
        print("after CUDA:", self.trace.status())

    def arena(self, offset, n, dtype):
        class Raw:
            __cuda_array_interface__ = {"shape": (n * dtype.itemsize,), "typestr": "|u1", "data": (ARENA + offset, False),
                                        "version": 3}
        return self.torch.as_tensor(Raw(), device="cuda").view(dtype)

    def add(self, x, y, out):
        n = out.numel()
        self.add_kernel[((n + 1023) // 1024,)](x, y, out, n, BLOCK=1024)
        return out

    def show(self, title, window, limit=12):
        print(f"-- {title}: window {window.number}, {len(window.ops)} ops, {len(window.blocks)} blocks")
        for op in window.ops[:limit]:
            print(describe(op))
        if len(window.ops) > limit:
            print(f"    ... and {len(window.ops) - limit} more")

    def is_pool(self, address):
        return POOL <= address < POOL_END

    # Each case is one method, run in this order.

    def case_memory(self):
        check, trace = self.check, self.trace
        check.that(trace.status().startswith("ready"), "library is ready", trace.status())
        data = os.urandom(1 << 16)
        back = ctypes.create_string_buffer(len(data))
        trace.call("arena_write", 4096, data, len(data))
        trace.call("arena_read", 4096, back, len(data))
        check.that(back.raw == data, "arena gives back what was written")
        check.that(trace.lib.kgb_trace_arena_write(64 * MIB - 8, data, 16) == -1, "a write past the arena is refused",
                   trace.status())
        tensor = self.arena(4096, len(data), self.torch.uint8)
        check.that(tensor.data_ptr() == ARENA + 4096 and bytes(tensor.cpu().numpy().tobytes()) == data,
                   "torch reads the arena at its address")
        trace.lib.kgb_trace_poison(0xA5)
        block = self.torch.empty(1000, dtype=self.torch.uint8, device="cuda")
        check.that(self.is_pool(block.data_ptr()), "torch allocates from the pool", hex(block.data_ptr()))
        check.that(bool((block.cpu() == 0xA5).all()), "fresh blocks hold the poison")
        first = block.data_ptr()
        del block
        again = self.torch.empty(1000, dtype=self.torch.uint8, device="cuda")
        check.that(again.data_ptr() == first, "a freed block is given out again", hex(again.data_ptr()))
        trace.lib.kgb_trace_poison(-1)

    def case_closed(self):
        check, trace = self.check, self.trace
        check.that(trace.lib.kgb_trace_begin(1) == -1, "no window without a record", trace.status())
        check.that(trace.lib.kgb_trace_end() == -1, "no end without a begin", trace.status())
        trace.open()
        trace.call("begin", 900)
        check.that(trace.lib.kgb_trace_begin(901) == -1, "one window at a time", trace.status())
        trace.call("end")
        check.that(trace.lib.kgb_trace_begin(900) == -1, "a number comes once", trace.status())
        windows, images = trace.read()
        check.that(list(windows) == [900] and not windows[900].ops and not images, "an empty window has no ops")

    def case_add(self):
        check, torch = self.check, self.torch
        n = 4096
        x, y = self.arena(0, n, torch.float32), self.arena(MIB, n, torch.float32)
        x.copy_(torch.arange(n, dtype=torch.float32))
        y.fill_(1)
        older = torch.empty(3 * MIB, dtype=torch.uint8, device="cuda")
        cold, _, _ = self.trace.window(lambda: self.add(x, y, torch.empty(n, device="cuda")))
        self.show("Triton add, cold", cold)
        check.that(cold.kernels() == ["add_kernel"], "add, cold: one launch", str(cold.kernels()))
        window, images, out = self.trace.window(lambda: self.add(x, y, torch.empty(n, device="cuda")))
        self.show("Triton add, warm", window)
        check.that([op.kind for op in window.ops] == ["launch"], "add, warm: nothing but a launch")
        if not window.of("launch"):
            return
        op = window.of("launch")[0]
        image = images.get(op.fields["image"], b"")
        check.that(op.fields["kernel"] == "add_kernel", "add: name of the kernel", op.fields["kernel"])
        check.that(image[:4] == ELF and b"add_kernel" in image, "add: image is a cubin with that kernel",
                   f"{len(image)} bytes {image[:4]}")
        check.that(len(images) == 1, "add: the image is written once", str(list(images)))
        check.that(words(op)[:3] == [ARENA, ARENA + MIB, out.data_ptr()], "add: parameters are arena and pool addresses",
                   str([hex(word) for word in words(op)]))
        check.that(struct.unpack_from("<i", op.fields["params"], 24)[0] == n, "add: n is among the parameters")
        check.that(op.fields["grid"] == (4, 1, 1) and op.fields["block"][0] % 32 == 0, "add: grid and block")
        check.that((out.data_ptr(), 4 * n, False, False) in window.blocks, "add: the result is a new block",
                   str(window.blocks))
        check.that((older.data_ptr(), 3 * MIB, False, True) in window.blocks, "add: an older block is listed as that")
        check.that(window.blocks == sorted(set(window.blocks)), "add: blocks are sorted, no two alike")
        check.that(torch.equal(out.cpu(), torch.arange(n, dtype=torch.float32) + 1), "add: right result")

    def case_atomics(self):
        check, torch = self.check, self.torch
        x = torch.ones(5000, device="cuda")

        def work():
            out = torch.zeros(1, device="cuda")
            self.total_kernel[(5,)](x, out, 5000, BLOCK=1024)
            return out
        work()
        window, images, out = self.trace.window(work)
        self.show("zeros and atomics", window)
        kinds = [op.kind for op in window.ops]
        check.that(kinds in (["launch", "launch"], ["memset", "launch"]), "atomics: a fill and a launch", str(kinds))
        check.that(window.kernels()[-1:] == ["total_kernel"], "atomics: Triton's kernel is last", str(window.kernels()))
        if kinds[:1] == ["launch"]:
            image = images.get(window.of("launch")[0].fields["image"], b"")
            check.that(image[:4] == FATBIN, "atomics: torch's fill comes from a fatbin", str(image[:4]))
        check.that(out.item() == 5000, "atomics: right result", str(out.item()))

    def case_aten(self):
        check, torch = self.check, self.torch
        x = torch.randn(256, 512, device="cuda")
        x.t().contiguous()
        window, images, _ = self.trace.window(lambda: x.t().contiguous())
        self.show("x.t().contiguous()", window)
        check.that(len(window.of("launch")) == 1 and not window.why(), "contiguous: one launch", str(window.why()))
        if window.of("launch"):
            op = window.of("launch")[0]
            check.that(images[op.fields["image"]][:4] == FATBIN, "contiguous: image is a fatbin")
            check.that(x.data_ptr() in words(op), "contiguous: x is among the parameters")
        a, b = torch.randn(512, 512, device="cuda"), torch.randn(512, 512, device="cuda")
        torch.mm(a, b)
        window, images, _ = self.trace.window(lambda: torch.mm(a, b))
        self.show("torch.mm", window)
        check.that(len(window.of("launch")) >= 1 and not window.why(), "mm: launches, all recordable", str(window.why()))
        check.that(all(op.fields["image"] in images for op in window.of("launch")), "mm: every image is there")
        check.that(any(a.data_ptr() in words(op) for op in window.of("launch")), "mm: a is among the parameters")

    def case_host(self):
        check, torch = self.check, self.torch
        x = torch.ones(1000, device="cuda")
        x.sum().item()
        window, _, value = self.trace.window(lambda: x.sum().item())
        self.show(".item()", window)
        check.that(value == 1000 and len(window.of("download")) == 1, "item: one download", str([op.kind for op in window.ops]))
        check.that(len(window.of("download")) == 1 and window.of("download")[0].fields["bytes"] == 4, "item: of 4 bytes")
        values = [3, 1, 4, 1, 5, 9, 2, 6]
        window, _, y = self.trace.window(lambda: torch.tensor(values, dtype=torch.int64).cuda())
        self.show("upload", window)
        uploads = window.of("upload")
        check.that(len(uploads) == 1 and uploads[0].fields["data"] == struct.pack("<8q", *values)
                   and uploads[0].fields["dst"] == y.data_ptr(), "upload: with its bytes and where they go")
        z = torch.empty_like(x)
        window, _, _ = self.trace.window(lambda: z.copy_(x))
        copies = window.of("copy")
        check.that(len(copies) == 1 and copies[0].fields == {"dst": z.data_ptr(), "src": x.data_ptr(), "bytes": 4000},
                   "copy: on the device", str([describe(op) for op in window.ops]))
        window, _, _ = self.trace.window(lambda: self.cu("cuMemsetD32Async", ctypes.c_uint64(x.data_ptr()),
                                                         ctypes.c_uint(0x3f800000), ctypes.c_size_t(100), self.cu.stream()))
        check.that([(op.kind, op.fields.get("value"), op.fields.get("width"), op.fields.get("element"))
                    for op in window.ops] == [("memset", 0x3f800000, 100, 4)], "memset: value, width, element",
                   str([describe(op) for op in window.ops]))
        dense = Copy2D(src_type=2, src_device=x.data_ptr(), src_pitch=4, src_y=3, dst_type=2, dst_device=z.data_ptr(),
                       dst_pitch=4, dst_x=8, width=4, height=5)
        window, _, _ = self.trace.window(lambda: self.cu("cuMemcpy2D_v2", ctypes.byref(dense)))
        check.that([op.fields for op in window.of("copy")] == [{"dst": z.data_ptr() + 8, "src": x.data_ptr() + 12, "bytes": 20}],
                   "2-D copy without gaps: one copy", str([describe(op) for op in window.ops]))
        window, _, _ = self.trace.window(torch.cuda.synchronize)
        check.that([op.kind for op in window.ops] == ["sync"], "sync: the host waited", str([op.kind for op in window.ops]))
        pinned = torch.ones(4096).pin_memory()
        out = torch.empty(4096, device="cuda")
        window, _, _ = self.trace.window(lambda: self.add(pinned, pinned, out))
        check.that("host-pointer" in window.why(), "pinned memory as a parameter is named", str(window.why()))

    def case_unsupported(self):
        check, torch, cu = self.check, self.torch, self.cu
        x = torch.zeros(1 << 16, dtype=torch.uint8, device="cuda")
        copy = Copy2D(src_type=2, src_device=x.data_ptr(), src_pitch=256, dst_type=2, dst_device=x.data_ptr() + 32768,
                      dst_pitch=512, width=128, height=4)
        window, _, _ = self.trace.window(lambda: cu("cuMemcpy2D_v2", ctypes.byref(copy)))
        check.that(window.why() == ["cuMemcpy2D_v2"], "2-D copy with gaps is named", str(window.why()))
        called = threading.Event()
        function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: called.set())

        def host_function():
            cu("cuLaunchHostFunc", cu.stream(), function, None)
            torch.cuda.synchronize()
        window, _, _ = self.trace.window(host_function)
        check.that("cuLaunchHostFunc" in window.why() and called.is_set(), "host function is named", str(window.why()))
        pointer = ctypes.c_uint64()

        def foreign():
            cu("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(12345))
            cu("cuMemsetD8_v2", pointer, ctypes.c_ubyte(7), ctypes.c_size_t(12345))
        window, _, _ = self.trace.window(foreign)
        check.that((pointer.value, 12345, True, False) in window.blocks, "memory of the driver's own is a foreign block",
                   str([block for block in window.blocks if block[2]]))
        check.that([op.fields.get("dst") for op in window.of("memset")] == [pointer.value], "and a memset of it is recorded")
        window, _, _ = self.trace.window(lambda: cu("cuMemFree_v2", pointer))
        check.that((pointer.value, 12345, True, True) in window.blocks, "a block freed in the window is listed")
        window, _, _ = self.trace.window(lambda: None)
        check.that(not any(block[0] == pointer.value for block in window.blocks), "and gone in the next")

    def case_graph(self):
        check, torch, cu = self.check, self.torch, self.cu
        x, out = torch.ones(4096, device="cuda"), torch.empty(4096, device="cuda")
        self.add(x, x, out)
        stream = torch.cuda.Stream()
        graph, executable = ctypes.c_void_p(), ctypes.c_void_p()

        def capture():
            with torch.cuda.stream(stream):
                cu("cuStreamBeginCapture_v2", cu.stream(), 2)
                self.add(x, x, out)
                self.add(x, out, out)
                cu("cuMemsetD8Async", ctypes.c_uint64(x.data_ptr()), ctypes.c_ubyte(0), ctypes.c_size_t(16), cu.stream())
                cu("cuStreamEndCapture", cu.stream(), ctypes.byref(graph))
            cu("cuGraphInstantiateWithFlags", ctypes.byref(executable), graph, ctypes.c_uint64(0))
        torch.cuda.synchronize()
        window, _, _ = self.trace.window(capture)
        check.that(not window.of("launch") and not window.of("memset"), "captured work is not recorded as done",
                   str([op.kind for op in window.ops]))

        def launch():
            cu("cuGraphLaunch", executable, ctypes.c_void_p(stream.cuda_stream))
        window, images, _ = self.trace.window(launch)
        self.show("graph of two adds and a memset", window)
        check.that([op.kind for op in window.ops] == ["launch", "launch", "memset"] and not window.why(),
                   "graph: its nodes in order", str([describe(op) for op in window.ops]))
        check.that(window.kernels() == ["add_kernel"] * 2, "graph: names of the kernels", str(window.kernels()))
        if len(window.of("launch")) == 2:
            second = window.of("launch")[1]
            check.that(words(second)[:3] == [x.data_ptr(), out.data_ptr(), out.data_ptr()], "graph: parameters of a node",
                       str([hex(word) for word in words(second)]))
            check.that(second.fields["image"] in images, "graph: image is there")
        torch.cuda.synchronize()

    def case_streams(self):
        check, torch = self.check, self.torch
        x, first, second = (torch.ones(4096, device="cuda") for _ in range(3))
        one, two = torch.cuda.Stream(), torch.cuda.Stream()
        event = torch.cuda.Event()
        torch.cuda.synchronize()

        def work():
            with torch.cuda.stream(one):
                self.add(x, x, first)
                event.record()
            with torch.cuda.stream(two):
                two.wait_event(event)
                self.add(first, x, second)
        window, _, _ = self.trace.window(work)
        self.show("two streams", window)
        kinds = [op.kind for op in window.ops]
        check.that(kinds == ["launch", "event_record", "event_wait", "launch"], "streams: order", str(kinds))
        if len(kinds) == 4:
            streams = [op.stream for op in window.ops]
            check.that(streams == [one.cuda_stream, one.cuda_stream, two.cuda_stream, two.cuda_stream], "streams: numbers")
            check.that(window.ops[1].fields == window.ops[2].fields, "streams: one event")
        torch.cuda.synchronize()
        results = []

        def many():
            for _ in range(100):
                self.add(x, x, first)
            results.append(1)

        def threads():
            running = [threading.Thread(target=many) for _ in range(4)]
            for thread in running:
                thread.start()
            for thread in running:
                thread.join()
        window, _, _ = self.trace.window(threads)
        check.that(len(window.kernels()) == 400 and len(results) == 4, "four threads: every launch", str(len(window.kernels())))

    def case_attributes(self):
        check, torch = self.check, self.torch
        x, out = torch.ones(4096, device="cuda"), torch.empty(4096, device="cuda")
        for name, option, number in (("cooperative", "launch_cooperative_grid", 2), ("dependent", "launch_pdl", 6)):
            try:
                self.add_kernel[(4,)](x, x, out, 4096, BLOCK=1024, **{option: True})
            except (KeyError, TypeError, RuntimeError) as error:
                check.skip(f"{name} launch", str(error).splitlines()[0][:100])
                continue
            window, _, _ = self.trace.window(
                lambda option=option: self.add_kernel[(4,)](x, x, out, 4096, BLOCK=1024, **{option: True}))
            attrs = [attr for op in window.of("launch") for attr in op.fields["attrs"]]
            check.that(any(attr[0] == number and attr[1][0] == 1 and not any(attr[1][4:]) for attr in attrs),
                       f"{name} launch: attribute {number}", str([(attr[0], attr[1][:8].hex()) for attr in attrs]))

    def case_autotune(self):
        check, torch = self.check, self.torch
        x, out = torch.ones(8192, device="cuda"), torch.empty(8192, device="cuda")

        def work():
            self.tuned_kernel[lambda meta: (8192 // meta["BLOCK"],)](x, out, 8192)
        cold, _, _ = self.trace.window(work)
        check.that(cold.kernels().count("tuned_kernel") > 10 and not any(why.startswith("trace:") for why in cold.why()),
                   "autotune, cold: many launches", f"{len(cold.ops)} ops, {cold.why()[:3]}")
        window, images, _ = self.trace.window(work)
        self.show("autotuned, warm", window)
        check.that(window.kernels() == ["tuned_kernel"], "autotune, warm: one launch", str(window.kernels()))
        tuned = [image for image in images.values() if b"tuned_kernel" in image]
        check.that(len(tuned) == 3, "autotune: an image for each variant, all of one name", str(len(tuned)))
        block = {image_id for image_id, image in images.items() if b"tuned_kernel" in image}
        check.that({op.fields["image"] for op in cold.of("launch") if op.fields["kernel"] == "tuned_kernel"} == block,
                   "autotune: launches name all of them")

    def case_torch_graph(self):
        check, torch = self.check, self.torch
        x = torch.ones(4096, device="cuda")
        stream = torch.cuda.Stream()
        self.add(x, x, torch.empty(4096, device="cuda")) + 1
        torch.cuda.synchronize()

        def by_context_manager():
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                return graph, self.add(x, x, torch.empty(4096, device="cuda")) + 1

        def by_hand():
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.stream(stream):
                graph.capture_begin()
                result = self.add(x, x, torch.empty(4096, device="cuda")) + 1
                graph.capture_end()
            return graph, result
        for name, capture in (("torch.cuda.graph", by_context_manager), ("CUDAGraph.capture_begin", by_hand)):
            try:
                graph, result = capture()
            except RuntimeError as error:
                check.skip(name, f"torch refuses it with this allocator: {str(error).splitlines()[0][:150]}")
                continue
            window, _, _ = self.trace.window(graph.replay)
            self.show(name, window)
            check.that(len(window.of("launch")) == 2 and not window.why(), f"{name}: two launches", str(window.why()))
            check.that(any(block[0] == result.data_ptr() for block in window.blocks), f"{name}: its memory is listed")
            torch.cuda.synchronize()
            check.that(bool((result == 3).all()), f"{name}: right result")

    def case_limits(self):
        check, torch, trace = self.check, self.torch, self.trace
        kept = trace.fd
        trace.open(80000)
        big = torch.zeros(1 << 20)
        window, _, _ = trace.window(big.cuda)
        check.that(len(window.ops) == 1 and window.why()[0].startswith("trace: record over"),
                   "a window that does not fit says so and nothing else", str(window.why()))
        x = torch.ones(16, device="cuda")
        window, _, _ = trace.window(lambda: x.copy_(x.clone()))
        check.that(window.of("copy") and not window.why(), "and the next one is whole", str(window.why()))
        os.close(trace.fd)
        trace.fd = kept

    def case_speed(self, path):
        torch = self.torch
        x, out = torch.ones(4096, device="cuda"), torch.empty(4096, device="cuda")
        outside = microseconds(lambda: self.add(x, x, out), torch.cuda.synchronize)
        self.trace.open()
        self.trace.call("begin", 1)
        inside = microseconds(lambda: self.add(x, x, out), torch.cuda.synchronize)
        self.trace.call("end")
        windows, _ = self.trace.read()
        self.check.that(len(windows[1].kernels()) == 2050, "speed: every launch of a long window",
                        str(len(windows[1].kernels())))
        n_bytes = os.fstat(self.trace.fd).st_size
        bare = {}
        for name in ("without", "injected"):
            env = dict(os.environ)
            if name == "without":
                env.pop("CUDA_INJECTION64_PATH")
            done = subprocess.run([sys.executable, __file__, path, "--bare"], env=env, capture_output=True, text=True, check=False)
            bare[name] = done.stdout.strip() if done.returncode == 0 else f"failed: {done.stderr.strip()[-200:]}"
        self.check.that(os.fstat(self.trace.fd).st_size == n_bytes, "another process writes nothing into the record")
        print(f"us per Triton call: no injection {bare['without']}, injected in another process {bare['injected']}, "
              f"here outside a window {outside:.1f}, inside {inside:.1f}")
        allocate = microseconds(lambda: torch.empty(4096, device="cuda"), torch.cuda.synchronize)
        print(f"us per torch.empty that reuses a block: {allocate:.1f}")


def bare():
    import torch
    add_kernel, _, _ = make_kernels()
    x, out = torch.ones(4096, device="cuda"), torch.empty(4096, device="cuda")
    print(f"{microseconds(lambda: add_kernel[(4,)](x, x, out, 4096, BLOCK=1024), torch.cuda.synchronize):.1f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", help="path of libkgb_trace.so")
    parser.add_argument("--keep", metavar="RECORD", help="write the record of the main cases there")
    parser.add_argument("--verbose", action="store_true", help="details of passed checks too")
    parser.add_argument("--bare", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.bare:
        bare()
        return 0
    path = str(pathlib.Path(args.library).resolve())
    os.environ["CUDA_INJECTION64_PATH"] = path
    os.environ.setdefault("KGB_CUPTI", find_cupti())
    os.environ.setdefault("TRITON_CACHE_DIR", tempfile.mkdtemp(prefix="trace_check_"))
    session = Session(path, args.verbose)
    check = session.check
    cases = [session.case_memory, session.case_closed, session.case_add, session.case_atomics, session.case_aten,
             session.case_host, session.case_unsupported, session.case_graph, session.case_streams,
             session.case_attributes, session.case_autotune, session.case_torch_graph, session.case_limits]
    for case in cases:
        if case == session.case_add:
            session.trace.open()
        try:
            case()
        except Exception as error:  # run every case, whatever the one before did
            check.that(False, f"{case.__name__} ran to its end", f"{type(error).__name__}: {error}")
            session.trace.lib.kgb_trace_end()
    if args.keep:
        with open(args.keep, "wb") as file:
            file.write(os.pread(session.trace.fd, os.fstat(session.trace.fd).st_size, 0))
    try:
        session.case_speed(path)
    except Exception as error:
        check.that(False, "case_speed ran to its end", f"{type(error).__name__}: {error}")
    print(f"{check.n_passed} passed, {check.n_failed} failed")
    return 1 if check.n_failed else 0


if __name__ == "__main__":
    sys.exit(main())
