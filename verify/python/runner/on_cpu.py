# SPDX-License-Identifier: MIT
"""The cpu platform of the runner: Triton's interpreter, tensors over the judge's memory, and logs of operators that ran outside
kernels.
"""

import collections
import contextlib
import ctypes
import mmap
import os

import numpy as np
import torch
import triton
import triton.language as tl
import triton.runtime.interpreter as interpreter
from torch._C._autograd import _disable_profiler_legacy, _enable_profiler_legacy
from torch._C._profiler import ProfilerConfig, ProfilerState, _ExperimentalConfig
from torch.utils._python_dispatch import TorchDispatchMode

import _kgbrun
import accesses
import compiled
import front_end
import host_code
import interpreter_fixes
import interpreter_speed
import memory
import torch_operators
import wire

KERNEL_ERROR = triton.runtime.errors.InterpreterError
OUT_OF_BOUNDS = accesses.OutOfBounds
NOT_EXECUTABLE = ()  # what the interpreter cannot run is an error of the candidate

COPIED = (torch.Tensor, bool, int, float, complex, list, tuple)


class Bits:
    """Memory that torch views as another type. A conversion of such bits computes: rounding, normalizing and cutting off bytes
    that were put together by hand is enough for any function."""

    BYTES = (torch.bool, torch.uint8, torch.int8)

    def __init__(self):
        self.types = {}  # address of a storage: its type at its first view as another
        self.mixed = set()  # addresses of storages that were written to as another type

    def begin_call(self, low, high):
        """The arguments are new."""
        self.types = {address: own for address, own in self.types.items() if not low <= address < high}
        self.mixed = {address for address in self.mixed if not low <= address < high}

    def forget(self, address):
        """A new tensor lies there."""
        self.types.pop(address, None)
        self.mixed.discard(address)

    def type_of(self, tensor):
        return torch.uint8 if tensor.dtype in self.BYTES else tensor.dtype

    def is_foreign(self, tensor):
        own = self.type_of(tensor)
        return self.types.get(storage_address(tensor), own) != own

    def follow(self, name, first, second):
        """The arguments of copy_; the first argument and the result of other operators."""
        if not isinstance(second, torch.Tensor):
            return
        if name == "aten::view":
            if self.type_of(first) != self.type_of(second):
                self.types.setdefault(storage_address(first), self.type_of(first))
            return
        source, target = (second, first) if name == "aten::copy_" else (first, second)
        if source.dtype != target.dtype and (self.is_foreign(source) or storage_address(source) in self.mixed):
            STATE.note("%s of the bits of another type" % name)
        if name != "aten::_to_copy" and self.is_foreign(target):
            self.mixed.add(storage_address(target))


class State:
    """State that the launch and dispatch hooks share."""

    def __init__(self):
        self.launches = collections.Counter()
        self.ops = []
        self.allowed = frozenset()
        self.composite = self.parts_only = frozenset()
        self.paused = 0
        self.skip_all = False
        self.skip = frozenset()
        self.heap = None
        self.history = None  # of memory, where the judge requests it
        self.tensors = ()  # (address, bytes) of the arguments
        self.bits = Bits()
        self.failure = None  # of a launch; an exception that the candidate catches has given it information
        self.arena = (0, 0)

    def begin_call(self):
        self.launches.clear()
        self.ops.clear()
        self.bits.begin_call(*self.arena)
        self.failure = None

    def note(self, name):
        """An operator ran outside a kernel that may not."""
        if name not in self.ops and len(self.ops) < wire.OPS:
            self.ops.append(name)

    def remember(self, who):
        """Attribute the contents of memory to `who`, a number for memory.History."""
        if self.history is not None:
            self.history.note(who, ((address, ctypes.string_at(address, n_bytes)) for address, n_bytes in self.tensors))
            self.history.note(who, self.heap.contents())

    @contextlib.contextmanager
    def pause(self):
        """Marks the interpreter's own torch calls, which are not the candidate's."""
        self.paused += 1
        try:
            yield
        finally:
            self.paused -= 1


STATE = State()


def storage_address(tensor):
    return tensor.untyped_storage().data_ptr()


class Watch(TorchDispatchMode):
    """Logs torch operators outside the allowlist and moves fresh tensors into the guarded heap."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if STATE.paused:
            return func(*args, **(kwargs or {}))
        if func._schema.name in STATE.parts_only:
            # In inference mode an operator that only calls others comes here itself; only its parts count.
            with self:
                return func.decompose(*args, **(kwargs or {}))
        result = func(*args, **(kwargs or {}))
        if func._schema.name not in STATE.allowed:
            STATE.note(func.name())
            return result
        if func._schema.name in ("aten::view", "aten::_to_copy", "aten::copy_", "aten::fill_", "aten::zero_"):
            STATE.bits.follow(func._schema.name, args[0], args[1] if func._schema.name == "aten::copy_" else result)
        if isinstance(result, torch.Tensor) and func._schema.returns[0].alias_info is None:
            return self.guarded(func, result, args)
        return result

    def guarded(self, func, result, args):
        if result.layout != torch.strided or result.device.type != "cpu":
            return result
        address = storage_address(result)
        low, high = STATE.arena
        if low <= address < high:
            return result
        if any(isinstance(arg, torch.Tensor) and storage_address(arg) == address for arg in args):
            return result
        with STATE.pause():
            taken = STATE.heap.take(result, keep_values=not func._schema.name.startswith(
                ("aten::empty", "aten::new_empty")))
        STATE.bits.forget(storage_address(taken))
        return taken


@contextlib.contextmanager
def recorded():
    """A second log of torch operators, made by the dispatcher itself: it also has operators that run where modes are switched
    off (callbacks of torch.tensor, printing). set_ and detach_ are the runner's own; Watch logs the candidate's. Names without
    a namespace are no operators."""
    _enable_profiler_legacy(ProfilerConfig(ProfilerState.CPU, False, False, False, False, False, _ExperimentalConfig()))
    try:
        yield
    finally:
        allowed = STATE.allowed | STATE.composite
        for thread in _disable_profiler_legacy():
            for name in frozenset(event.name() for event in thread if event.kind() == "push"):
                if "::" in name and name not in allowed:
                    STATE.note(name)


def watched(owner, name):
    """Ways from a tensor to Python that no operator shows. The interpreter itself takes none of them."""
    function = getattr(owner, name)

    def call(*args, **kwargs):
        STATE.note("%s.%s" % (owner.__name__, name))
        return function(*args, **kwargs)

    setattr(owner, name, call)


def copied_only(name):
    """A tensor that shares its memory with an object of Python reveals its contents."""
    function = getattr(torch, name)

    def call(data, *args, **kwargs):
        if type(data) not in COPIED:
            STATE.note("torch.%s" % name)
        return function(data, *args, **kwargs)

    setattr(torch, name, call)


def hide_data():
    for name in ("asarray", "as_tensor", "frombuffer", "from_numpy", "from_dlpack"):
        copied_only(name)
    for name in ("tolist", "numpy", "apply_", "map_", "map2_", "storage", "_typed_storage", "__array__", "__dlpack__",
                 "__reduce_ex__", "__deepcopy__"):
        watched(torch.Tensor, name)
    for name in ("tolist", "__getitem__", "__setitem__", "__iter__", "__reduce__"):
        watched(torch.UntypedStorage, name)
    torch.Tensor.__repr__ = torch.Tensor.__str__ = lambda self, **kwargs: "%s tensor of size %s" % (
        self.dtype, list(self.size()))


def hook_interpreter():
    """Count launches, skip them all or by name, and separate the interpreter's own torch calls from the candidate's."""
    executor = interpreter.GridExecutor
    run, to_host, from_host = executor.__call__, executor._init_args_hst, executor._restore_args_dev

    def launch(self, *args, **kwargs):
        name = getattr(self.fn, "__name__", "?")
        STATE.launches[name] += 1
        STATE.remember(memory.History.BY_HOST)
        if STATE.skip_all or name in STATE.skip:
            return None
        host_code.RUNNING.append(name)
        try:
            result = run(self, *args, **kwargs)
            STATE.remember(memory.History.BY_KERNEL)
            return result
        except BaseException as error:
            STATE.failure = STATE.failure or error
            raise
        finally:
            host_code.RUNNING.pop()

    def init_args(self, *args):
        with STATE.pause():
            args_host, kwargs_host = to_host(self, *args)
            accesses.Launch.current = accesses.Launch((args_host, tuple(kwargs_host.values())))
            return args_host, kwargs_host

    def restore_args(self, *args):
        with STATE.pause():
            return from_host(self, *args)

    executor.__call__ = launch
    executor._init_args_hst = init_args
    executor._restore_args_dev = restore_args


@triton.jit
def first_kernel(x, N: tl.constexpr):
    """Launches once, because the first launch imports for a tenth of a second."""
    at = x + tl.arange(0, N)
    tl.store(at, tl.load(at))


def prepare():
    """Called once, in the zygote: sets hooks, and uses everything that loads lazily or reads /proc."""
    np.seterr(all="ignore")  # a warning would reveal a tensor's contents to the host
    compiled.prepare()
    interpreter_fixes.apply()
    front_end.apply()
    accesses.apply()
    interpreter_speed.apply()
    hook_interpreter()
    hide_data()
    STATE.parts_only = torch_operators.composite()
    STATE.composite = STATE.parts_only | {"aten::set_", "aten::detach_"}
    memory.warm_up()
    heap = memory.Heap()
    STATE.heap = heap
    STATE.allowed = frozenset(("aten::empty",))
    with recorded(), Watch():
        first_kernel[(1,)](torch.empty(4), N=4)
    STATE.heap = None
    STATE.begin_call()


class Platform:
    """One worker's memory and how it runs the candidate."""

    device = "cpu"

    def __init__(self):
        self.arena = None
        self.out = None
        self.out_bytes = 0
        self.out_address = 0

    def map(self, request, fds):
        self.arena = _kgbrun.map_at(memory.ARENA_ADDRESS, fds[0], request["arena_bytes"])
        self.out = mmap.mmap(fds[1], request["out_bytes"])
        self.out_bytes = request["out_bytes"]
        self.out_address = memory.address_of(self.out)
        start = memory.address_of(self.arena)
        STATE.arena = (start, start + request["arena_bytes"])
        for fd in fds:
            os.close(fd)

    def tensor(self, arg):
        return memory.tensor_at(self.arena, arg["at"], memory.TORCH_DTYPES[arg["dtype"]], arg["elements"],
                                arg["sizes"], arg["strides"], arg["first"])

    def storages(self, request):
        """Where the arguments lie: (address, bytes)."""
        for arg in request["args"]:
            if arg["kind"] == "tensor" and arg["elements"] > 0:
                yield STATE.arena[0] + arg["at"], arg["elements"] * memory.TORCH_DTYPES[arg["dtype"]].itemsize
            if "behind" in arg:
                yield STATE.arena[0] + arg["behind"][0], arg["behind"][1]

    @contextlib.contextmanager
    def loading(self, request):
        STATE.allowed = frozenset(request["allow"])
        STATE.heap = memory.Heap()
        STATE.begin_call()
        with recorded(), Watch():
            yield

    @contextlib.contextmanager
    def calling(self, request):
        STATE.skip_all = request["skip_all"]
        STATE.skip = frozenset(request["skip"])
        accesses.Launch.behind = [(STATE.arena[0] + arg["behind"][0], arg["behind"][1])
                                  for arg in request["args"] if "behind" in arg]
        STATE.begin_call()
        STATE.heap.begin_call(request["fill"], request["seed"])
        STATE.history = memory.History() if request["watch"] else None
        STATE.tensors = tuple(self.storages(request))
        _kgbrun.perturb(request["poison"])
        with recorded(), Watch():
            yield
            STATE.remember(memory.History.BY_HOST)
            if STATE.failure is not None:
                raise STATE.failure

    def damage(self):
        """A sentence about memory that the candidate should not have written, or None."""
        return STATE.heap.damage()

    def history(self):
        """The history of the memory of the last watched call."""
        if STATE.history is None or STATE.history.overflowed:
            raise MemoryError("the case takes more memory than %d MiB" % (memory.History.BYTES_MAX >> 20))
        return bytes(STATE.history.log)

    def log_to(self, reply):
        reply.launches = dict(STATE.launches)
        reply.ops = list(STATE.ops)

    def place(self, tensor):
        """(where, address) of a result's first element."""
        address = tensor.data_ptr()
        low, high = STATE.arena
        return (wire.ARENA, address - low) if low <= address < high else (wire.FRESH, address)

    def copy_out(self, tensor, start):
        _kgbrun.gather(self.out_address + start, tensor.data_ptr(), tensor.element_size(), tuple(tensor.size()),
                       tuple(tensor.stride()))
