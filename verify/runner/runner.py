# SPDX-License-Identifier: MIT
"""The untrusted worker: imports a candidate's kernel.py and calls its functions on the judge's data.

Runs in a jail (zygote.py). From the moment the candidate is imported nothing in this process can be trusted: what it
replies is data that the judge checks, and the verdict is made elsewhere.

Requests: {"id", "op"} and
    map     descriptors [arena, out], "arena_bytes", "out_bytes"
    load    "entries", "allow": torch operators that may run outside a kernel
    call    "entry", "args", "poison", "fill", "seed", "keep", "ghost", "skip"
"""

import collections
import contextlib
import importlib.util
import json
import mmap
import os
import sys

import torch
import triton
import triton.language
import triton.runtime.interpreter as interpreter
from torch._C._autograd import _disable_profiler_legacy, _enable_profiler_legacy
from torch._C._profiler import ProfilerConfig, ProfilerState, _ExperimentalConfig
from torch.utils._python_dispatch import TorchDispatchMode

import _kgbrun
import accesses
import front_end
import interpreter_fixes
import memory
import wire

sys.path.append("/kgb/facts")
import ast_facts  # noqa: E402

KERNEL_PATH = "/kgb/tmp/kernel.py"


class State:
    """What the launch and dispatch hooks share."""

    def __init__(self):
        self.launches = collections.Counter()
        self.ops = []
        self.allowed = frozenset()
        self.composite = frozenset()
        self.paused = 0
        self.ghost = False
        self.skip = frozenset()
        self.heap = None
        self.arena = (0, 0)

    def begin_call(self):
        self.launches.clear()
        self.ops.clear()

    def note(self, name):
        """Something that may not run outside a kernel did."""
        if name not in self.ops and len(self.ops) < wire.OPS:
            self.ops.append(name)

    @contextlib.contextmanager
    def pause(self):
        """The interpreter's own torch calls are not the candidate's."""
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
        result = func(*args, **(kwargs or {}))
        if STATE.paused:
            return result
        if func._schema.name not in STATE.allowed:
            STATE.note(func.name())
            return result
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
            return STATE.heap.take(result, keep_values=not func._schema.name.startswith(
                ("aten::empty", "aten::new_empty")))


def composite_operators():
    """Names of operators that only call others, which are recorded themselves. tensor_split looks at data by itself."""
    composite, names = {}, torch._C._dispatch_get_registrations_for_dispatch_key("CompositeImplicitAutograd")
    names = frozenset(names)
    for name in torch._C._dispatch_get_all_op_names():
        base = name.partition(".")[0]
        composite[base] = composite.get(base, True) and name in names
    return frozenset(base for base, is_composite in composite.items() if is_composite) - {"aten::tensor_split"}


@contextlib.contextmanager
def recorded():
    """A second log of torch operators, made by the dispatcher itself: it also has what runs where modes are switched off
    (callbacks of torch.tensor, printing). set_ and frombuffer are the runner's and the interpreter's own; Watch sees the
    candidate's."""
    _enable_profiler_legacy(ProfilerConfig(ProfilerState.CPU, False, False, False, False, False, _ExperimentalConfig()))
    try:
        yield
    finally:
        allowed = STATE.allowed | STATE.composite
        for thread in _disable_profiler_legacy():
            for name in frozenset(event.name() for event in thread if event.kind() == "push"):
                if name.startswith("aten::") and name not in allowed:
                    STATE.note(name)


def watched(owner, name):
    """Ways from a tensor to Python that no operator shows."""
    function = getattr(owner, name)

    def call(*args, **kwargs):
        if not STATE.paused:
            STATE.note("%s.%s" % (owner.__name__, name))
        return function(*args, **kwargs)

    setattr(owner, name, call)


def hide_data():
    for name in ("tolist", "numpy", "apply_", "map_", "map2_", "storage", "_typed_storage", "__array__", "__dlpack__",
                 "__reduce_ex__", "__deepcopy__"):
        watched(torch.Tensor, name)
    for name in ("tolist", "__getitem__", "__setitem__", "__iter__", "__reduce__"):
        watched(torch.UntypedStorage, name)
    torch.Tensor.__repr__ = torch.Tensor.__str__ = lambda self, **kwargs: "%s tensor of size %s" % (
        self.dtype, list(self.size()))


def hook_interpreter():
    """Count launches, skip them in ghost mode, and tell the interpreter's own torch calls from the candidate's."""
    executor = interpreter.GridExecutor
    run, to_host, from_host = executor.__call__, executor._init_args_hst, executor._restore_args_dev

    def launch(self, *args, **kwargs):
        name = getattr(self.fn, "__name__", "?")
        front_end.check_arguments(self, args, kwargs)
        STATE.launches[name] += 1
        if STATE.ghost or name in STATE.skip:
            return None
        return run(self, *args, **kwargs)

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


def prepare():
    """Once, in the zygote: hooks, and a first use of everything that loads lazily or reads /proc."""
    interpreter_fixes.apply()
    front_end.apply()
    accesses.apply()
    hook_interpreter()
    hide_data()
    STATE.composite = composite_operators() | {"aten::set_", "aten::detach_"}
    memory.warm_up()
    heap = memory.Heap()
    STATE.heap = heap
    STATE.allowed = frozenset(("aten::empty",))
    with recorded(), Watch():
        torch.empty(4)
    STATE.heap = None


def line_of(error):
    """The innermost line of kernel.py in an exception's own or its cause's traceback; 0 when there is none."""
    line = 0
    while error is not None:
        trace = error.__traceback__
        while trace is not None:
            if trace.tb_frame.f_code.co_filename == KERNEL_PATH:
                line = trace.tb_lineno
            trace = trace.tb_next
        error = error.__cause__ or error.__context__
    return line


def describe(error):
    try:
        text = str(error)
    except Exception:
        text = "(its message cannot be shown)"
    return "%s: %s" % (type(error).__name__, text)


def reply_of_error(error):
    """What a candidate's exception becomes. Everything but its text is decided by its type."""
    line = line_of(error)
    shown = error
    while isinstance(shown, triton.runtime.errors.InterpreterError) and shown.__cause__ is not None:
        shown = shown.__cause__
    if isinstance(shown, accesses.OutOfBounds):
        return wire.Reply(wire.GUARD, str(shown), line)
    if isinstance(shown, SystemExit):
        return wire.Reply(wire.EXIT, "sys.exit(%s)" % (shown.code,), line)
    if isinstance(shown, MemoryError) or "can't allocate memory" in describe(shown):
        return wire.Reply(wire.MEMORY, describe(shown), line)
    return wire.Reply(wire.EXCEPTION, describe(shown), line)


class Runner:
    def __init__(self, source):
        self.source = source
        self.module = None
        self.arena = None
        self.out = None
        self.out_bytes = 0
        self.out_address = 0
        self.kept = []

    def handle(self, request, fds):
        try:
            return getattr(self, "do_" + request["op"])(request, fds)
        except BaseException as error:
            return reply_of_error(error)

    def do_map(self, request, fds):
        self.kept = []
        self.arena = mmap.mmap(fds[0], request["arena_bytes"])
        self.out = mmap.mmap(fds[1], request["out_bytes"])
        self.out_bytes = request["out_bytes"]
        self.out_address = memory.address_of(self.out)
        start = memory.address_of(self.arena)
        STATE.arena = (start, start + request["arena_bytes"])
        for fd in fds:
            os.close(fd)
        return wire.Reply()

    def do_load(self, request, fds):
        STATE.allowed = frozenset(request["allow"])
        STATE.heap = memory.Heap()
        with open(KERNEL_PATH, "wb") as file:
            file.write(self.source)
        spec = importlib.util.spec_from_file_location("kernel", KERNEL_PATH)
        self.module = importlib.util.module_from_spec(spec)
        sys.modules["kernel"] = self.module
        STATE.begin_call()
        with recorded(), Watch():
            spec.loader.exec_module(self.module)
        for name in request["entries"]:
            if not callable(getattr(self.module, name, None)):
                return wire.Reply(wire.EXCEPTION, "AttributeError: kernel.py defines no function %s" % name)
        return self.with_log(wire.Reply())

    def with_log(self, reply):
        reply.launches = dict(STATE.launches)
        reply.ops = list(STATE.ops)
        return reply

    def do_call(self, request, fds):
        args, kwargs = [], {}
        for arg in request["args"]:
            value = self.argument(arg)
            if arg.get("name"):
                kwargs[arg["name"]] = value
            else:
                args.append(value)
        entry = getattr(self.module, request["entry"])
        STATE.ghost = request["ghost"]
        STATE.skip = frozenset(request["skip"])
        STATE.begin_call()
        STATE.heap.begin_call(request["fill"], request["seed"])
        _kgbrun.perturb(request["poison"])
        try:
            with recorded(), Watch():
                result = entry(*args, **kwargs)
        except BaseException as error:
            damage = STATE.heap.damage()
            reply = wire.Reply(wire.GUARD, damage) if damage else reply_of_error(error)
            return self.with_log(reply)
        damage = STATE.heap.damage()
        reply = wire.Reply(wire.GUARD, damage) if damage else self.results(result)
        self.kept = [self.kept[-1] if self.kept and request["keep"] else None, result]
        return self.with_log(reply)

    def argument(self, arg):
        kind = arg["kind"]
        if kind == "tensor":
            return memory.tensor_at(self.arena, arg["at"], memory.TORCH_DTYPES[arg["dtype"]], arg["elements"],
                                    arg["sizes"], arg["strides"], arg["first"])
        if kind == "float":
            return float(arg["value"])
        if kind == "dtype":
            return memory.TORCH_DTYPES[arg["value"]]
        return arg["value"]

    def results(self, result):
        """Describe the returned values and copy the tensors' elements into the output memory."""
        reply = wire.Reply()
        if result is None:
            return reply
        sequence = isinstance(result, (tuple, list))
        values = list(result) if sequence else [result]
        if len(values) > wire.OUTPUTS:
            return wire.Reply(wire.EXCEPTION, "ValueError: returned %d values" % len(values))
        reply.value = 2 if sequence else 1
        used = 0
        for value in values:
            output = self.output(value)
            if output.kind == wire.TENSOR:
                used = self.copy_out(value, output, used)
            reply.outputs.append(output)
        return reply

    def output(self, value):
        if value is None:
            return wire.Output(wire.NONE)
        if type(value) is not torch.Tensor:
            return wire.Output(wire.OTHER, type(value).__name__)
        if value.layout != torch.strided or value.device.type != "cpu" or value.dtype not in memory.DTYPE_NUMBERS:
            return wire.Output(wire.OTHER, "%s %s tensor on %s" % (value.layout, value.dtype, value.device))
        if value.is_conj() or value.is_neg() or value.dim() > wire.DIMS:
            return wire.Output(wire.OTHER, "tensor with lazy bits or %d dimensions" % value.dim())
        output = wire.Output(wire.TENSOR, "Tensor")
        output.dtype = memory.DTYPE_NUMBERS[value.dtype]
        output.sizes = tuple(value.size())
        output.strides = tuple(value.stride())
        output.address = value.data_ptr()
        low, high = STATE.arena
        if low <= output.address < high:
            output.where = wire.ARENA
            output.address -= low
        return output

    def copy_out(self, value, output, used):
        n_bytes = value.numel() * value.element_size()
        start = -(-used // memory.ALIGN) * memory.ALIGN
        if n_bytes == 0 or start + n_bytes > self.out_bytes:
            return used
        _kgbrun.gather(self.out_address + start, value.data_ptr(), value.element_size(), output.sizes, output.strides)
        output.offset = start
        output.n_bytes = n_bytes
        return start + n_bytes


class Facts:
    """Static facts about a source that this process never runs."""

    def __init__(self, source, out_fd):
        self.source = source
        self.out_fd = out_fd

    def handle(self, request, fds):
        text = json.dumps(ast_facts.facts(self.source), ensure_ascii=True, separators=(",", ":")).encode()
        size = os.fstat(self.out_fd).st_size
        if len(text) > size:
            return wire.Reply(wire.MEMORY, "%d bytes of facts" % len(text))
        with mmap.mmap(self.out_fd, size) as out:
            out[:len(text)] = text
        reply = wire.Reply()
        reply.value = len(text)
        return reply


def main(channel, role, fds):
    source = os.pread(fds[0], os.fstat(fds[0]).st_size, 0)
    os.close(fds[0])
    worker = Facts(source, fds[1]) if role == "facts" else Runner(source)
    wire.serve(channel, worker.handle)
