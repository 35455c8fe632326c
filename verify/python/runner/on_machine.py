# SPDX-License-Identifier: MIT
"""The platform of a runner that records on the CPU: torch's memory is the judge's arena and the pool, calls with a window are
recorded (docs/record-format.md), and kernels of calls that are not only recorded run in the machine. As on a GPU, this module
checks nothing: the judge proves the record and replays it.
"""

import contextlib
import mmap
import os
import random

import torch
import triton
import triton.language as tl

import _kgbrun
import cpu_trace
import machine_driver
import memory
import only_records
import remote
import torch_moves

OUT_OF_BOUNDS = cpu_trace.Fault
NOT_EXECUTABLE = cpu_trace.NotExecutable


@triton.jit
def first_kernel(x, N: tl.constexpr):
    """A kernel whose launch loads everything that loads lazily."""
    at = x + tl.arange(0, N)
    tl.store(at, 2 * tl.load(at))


def prepare():
    """Called once, in the zygote."""
    cpu_trace.open_library()
    machine_driver.prepare()
    torch_moves.prepare()
    memory.warm_up()
    torch_moves.STATE.allowed = frozenset(("aten::ones", "aten::clone"))
    with torch_moves.Watch():
        x = torch.ones(4, device=Platform.device)
        first_kernel[(1,)](x, N=4)
        x.clone()
    torch_moves.STATE.allowed = frozenset()
    machine_driver.answer_for_cuda()


def compile_by(fd):
    """Request IR from the judge at the other end of this socket."""
    remote.use(fd)


class Platform:
    """A worker's memory, and its way to run the candidate."""

    device = "cpu"

    def __init__(self):
        self.windows = ()  # mappings of the arena
        self.arena_bytes = 0
        self.out = None
        self.out_bytes = 0
        self.out_address = 0

    def map(self, request, fds):
        self.arena_bytes, self.out_bytes = request["arena_bytes"], request["out_bytes"]
        self.windows = _kgbrun.map_at(memory.ARENA_ADDRESS, memory.ARENA_WINDOWS, memory.ARENA_STRIDE, fds[0], self.arena_bytes)
        self.out = mmap.mmap(fds[1], self.out_bytes)
        self.out_address = memory.address_of(self.out)
        cpu_trace.arena(self.arena_bytes)
        for fd in fds:
            os.close(fd)

    def record(self, request, fd):
        """Record the work of calls to this descriptor from now on."""
        cpu_trace.open_record(fd, request["max_bytes"])

    def device_of(self, tensor):
        return "the host" if torch_moves.is_unpooled(tensor) else tensor.device.type

    def tensor(self, arg):
        window, place = divmod(arg["at"], memory.ARENA_STRIDE)
        return memory.tensor_at(self.windows[window], place, memory.TORCH_DTYPES[arg["dtype"]], arg["elements"],
                                arg["sizes"], arg["strides"], arg["first"])

    @contextlib.contextmanager
    def loading(self, request):
        torch_moves.STATE.allowed = frozenset(request["allow"])
        self.begin_call(0, 0)
        with torch_moves.Watch():
            yield

    def begin_call(self, fill, seed, records=False):
        only_records.STATE.begin_call(records)
        torch_moves.STATE.ops.clear()
        machine_driver.STATE.begin_call(seed)
        cpu_trace.poison(random.Random(seed).randrange(256) if fill is None else fill)

    @contextlib.contextmanager
    def calling(self, request):
        self.begin_call(request["fill"], request["seed"], request["only_records"])
        _kgbrun.perturb(request["poison"])
        with self.recording(request.get("window", 0)), torch_moves.Watch():
            yield
        if machine_driver.STATE.failure is not None:
            raise machine_driver.STATE.failure

    @contextlib.contextmanager
    def repeating(self, request):
        """No launch is carried out meanwhile: the host's work depends on sizes only; else no replay could repeat the call."""
        self.begin_call(request["fill"], request["seed"])
        with machine_driver.without_launches(), torch_moves.Watch():
            yield

    @contextlib.contextmanager
    def recording(self, window):
        if not window:
            yield
            return
        cpu_trace.begin(window)
        try:
            yield
        finally:
            cpu_trace.end()

    def log_to(self, reply):
        reply.launches = dict(machine_driver.STATE.launches)
        reply.ops = list(torch_moves.STATE.ops)

    def place(self, tensor):
        return memory.place(tensor, self.arena_bytes)

    def copy_out(self, tensor, start):
        _kgbrun.gather(self.out_address + start, tensor.data_ptr(), tensor.element_size(), tuple(tensor.size()),
                       tuple(tensor.stride()))
