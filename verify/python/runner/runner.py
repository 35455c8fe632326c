# SPDX-License-Identifier: MIT
"""The untrusted worker: imports a candidate's kernel.py and calls its functions on the judge's data.

Runs in a jail (zygote.py). From the moment the candidate is imported nothing in this process can be trusted: its replies are
data that the judge checks, and the verdict is made elsewhere. Code that depends on the device is in on_machine.py and on_cuda.py.

Requests: {"id", "op"} and
    map     descriptors [arena, out], "arena_bytes", "out_bytes"
    load    "entries", "allow": torch operators that may run outside a kernel; "optimized": without asserts and docstrings, as
            `python -OO`; "module", "folder": name of the module, and folder of its file below that of the worker
    call    "entry", "args", "tuples", "parameters", "grad", "default_type", "caller", "poison", "fill", "seed",
            "keep": number of earlier calls whose results stay in use, "window",
            "take": copy the results' elements to the output, "parts": which bytes of the arena count (offset, length, ...),
            "back": bring them back after the call
    repeat  like call, but repeated for "repeat_us" of the processor, without results; on the CPU nothing is launched
    record  descriptor [record], "max_bytes": to which calls with a "window" are recorded
"""

import contextlib
import importlib.util
import json
import mmap
import os
import sys
from time import monotonic_ns, thread_time_ns

import torch
from triton.compiler.errors import CompilationError
from triton.runtime.errors import PTXASError

import explain
import memory
import only_records
import wire

if os.environ.get("KGB_DEVICE") == "cuda":
    import on_cuda as platform
else:
    import on_machine as platform

sys.path.append("/kgb/facts")
import ast_facts  # noqa: E402

CALLS_MAX, BUSY_FACTOR = 1000, 10  # calls of a repeat; wall time of a repeat, at most, in multiples of its processor time
JUDGE = "/kgb/"
NO_GRADIENT, OF_LEAF, OF_RESULT = range(3)  # enum kgb_gradient
GRAD_MODES = torch.enable_grad, torch.no_grad, torch.inference_mode  # enum kgb_grad_mode
DEFAULT_TYPES = torch.float32, torch.float16, torch.bfloat16, torch.float64  # enum kgb_default_type

PYTHON, COMPILED, EXPORTED, TRACED = range(4)  # enum kgb_caller
QUESTIONS = (  # to torch, about the caller, with those that it answers yes for
    (torch.compiler, "is_compiling", (COMPILED, EXPORTED)),
    (torch.compiler, "is_dynamo_compiling", (COMPILED,)),
    (torch.jit, "is_tracing", (TRACED,)),
)


def prepare():
    torch.broadcast_shapes((1,), (2, 1))  # its first call imports sympy, which takes seconds without cached bytecode
    # Storages over the judge's memory look like torch's own. They cannot grow: torch_moves.py replaces resize_.
    torch.UntypedStorage.resizable = lambda self: True
    platform.prepare()


def line_of(error, path):
    """The innermost line of the file in an exception's own or its cause's traceback; 0 when there is none."""
    line, seen = 0, set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        trace = error.__traceback__
        while trace is not None:
            if trace.tb_frame.f_code.co_filename == path:
                line = trace.tb_lineno
            trace = trace.tb_next
        error = error.__cause__ or error.__context__
    return line


def reply_of_error(error, kernel):
    """The reply to an exception in the candidate. The exception's type decides; errors of torch's CPU allocator and Triton's
    driver have no types of their own, so their texts decide."""
    line = line_of(error, kernel.path)
    if isinstance(error, platform.OUT_OF_BOUNDS):
        return wire.Reply(wire.GUARD, str(error), getattr(error, "line", 0) or line)
    if isinstance(error, platform.NOT_EXECUTABLE):
        return wire.Reply(wire.UNSUPPORTED, str(error), line)
    if isinstance(error, SystemExit):
        return wire.Reply(wire.EXIT, "sys.exit(%s)" % (error.code,), line)
    text, compiled = explain.describe(error, kernel.text())
    text = kernel.in_words_of_the_user(text)
    line = compiled or line
    if isinstance(error, (CompilationError, PTXASError)):
        return wire.Reply(wire.COMPILE, text, line)
    of_device = isinstance(error, torch.AcceleratorError) or text.startswith("RuntimeError: Triton Error [")
    # torch does not ask whether an allocator other than its own gave memory.
    has_none = platform.Platform.device == "cuda" and "its data is not allocated yet" in text
    if (isinstance(error, (MemoryError, torch.OutOfMemoryError)) or "can't allocate memory" in text or has_none or
            of_device and "out of memory" in text):
        return wire.Reply(wire.MEMORY, text, line)
    return wire.Reply(wire.DEVICE if of_device else wire.EXCEPTION, text, line)


def with_gradient(tensor, gradient):
    """The tensor as one whose gradient torch computes: a leaf, or the result of an operator, in the same memory."""
    tensor.requires_grad_()
    if gradient == OF_LEAF:
        return tensor
    with torch.enable_grad():
        return torch.as_strided(tensor, tensor.size(), tensor.stride(), tensor.storage_offset())


# Settings of torch that a caller has. A call leaves them as they are.
SETTINGS = {
    "torch.is_grad_enabled()": torch.is_grad_enabled,
    "torch.is_inference_mode_enabled()": torch.is_inference_mode_enabled,
    "torch.get_default_dtype()": torch.get_default_dtype,
    "torch.get_default_device()": torch.get_default_device,
    "torch.get_float32_matmul_precision()": torch.get_float32_matmul_precision,
    "torch.are_deterministic_algorithms_enabled()": torch.are_deterministic_algorithms_enabled,
    "torch.is_autocast_enabled()": torch.is_autocast_enabled,
    "torch.get_num_threads()": torch.get_num_threads,
}


class Changed(Exception):
    """A call changed something of its caller's beside the elements of its arguments."""


def state_of(tensors):
    """What a caller sees of torch's settings and of the tensors that it passes, beside their elements."""
    state = {name: read() for name, read in SETTINGS.items()}
    for number, tensor in enumerate(tensors):
        state["requires_grad of tensor %d" % number] = tensor.requires_grad
        state["grad of tensor %d" % number] = tensor.grad is None if tensor.is_leaf else True
        state["the form of tensor %d" % number] = tensor.dtype, tensor.shape, tensor.stride(), tensor.storage_offset()
    return state


def check_state(before, tensors):
    for name, value in state_of(tensors).items():
        # Autograd gives requires_grad to a tensor that a call writes to.
        gained = name.startswith("requires_grad") and value
        if value != before[name] and not gained:
            raise Changed("the call changed %s: leave what the caller has as it was" % name)


def values_of(result):
    return list(result) if isinstance(result, (tuple, list)) else [result]


def tensors_of(result):
    return [value for value in values_of(result) if isinstance(value, torch.Tensor)]


def check_new(result, earlier, tensors):
    """Who changes the form of one result must not change that of another, unless both are an argument."""
    known = {id(value) for other in earlier for value in tensors_of(other)} - {id(tensor) for tensor in tensors}
    if any(id(value) in known for value in tensors_of(result)):
        raise Changed("the call returned the tensor object that an earlier call returned: make a new one in each call")


def members_of(args, kwargs):
    """The members of each argument that is a list, which is the caller's."""
    return [list(value) for value in (*args, *kwargs.values()) if type(value) is list]


def check_lists(before, args, kwargs):
    for old, new in zip(before, members_of(args, kwargs)):
        if len(old) != len(new) or any(a is not b for a, b in zip(old, new)):
            raise Changed("the call changed a list that it was passed: copy the list to change it")


def check_gradients(result, tensors):
    """A view of an argument whose gradient torch computes takes part in that; no other new result has a gradient or comes from
    another mode than the caller's."""
    tracked = [tensor for tensor in tensors if tensor.requires_grad and tensor.numel() > 0]
    places = {tensor.untyped_storage().data_ptr() for tensor in tracked}
    arguments = {id(tensor) for tensor in tensors}
    for value in tensors_of(result):
        if id(value) in arguments or type(value) is not torch.Tensor or value.layout != torch.strided or value.numel() == 0:
            continue
        is_view = value.untyped_storage().data_ptr() in places  # which also has requires_grad where gradients are off
        if is_view and torch.is_grad_enabled() and value.grad_fn is None and value.is_floating_point():
            raise Changed("the result is a view of an argument that requires a gradient, and torch does not track it: return a "
                          "view that torch made of the argument, not one by detach() or .data")
        if value.requires_grad and not is_view and (value.is_leaf or not tracked):
            raise Changed("the result requires a gradient that torch computes for no argument: return a tensor that requires none")
        if value.is_inference() and not torch.is_inference_mode_enabled():
            raise Changed("the result is an inference tensor, and the caller is not in that mode: leave out inference_mode()")


def asks(path):
    """Whether the code that asks torch about its caller is in this file. torch's own functions get the true answer."""
    frame = sys._getframe(2)
    while frame.f_globals.get("__name__") == "torch._dynamo.external_utils":  # its is_compiling asks torch.compiler's
        frame = frame.f_back
    return frame.f_code.co_filename == path


def launched_as(rank):
    """The variables that torchrun gives to a process; none for rank 0."""
    here = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": 8, "LOCAL_WORLD_SIZE": 8, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": 29500}
    return {name: str(value) for name, value in here.items()} if rank else {}


class Kernel:
    """The candidate's file as a module of a user: its name and its folder are drawn."""

    def __init__(self, source, place):
        self.source, self.place = source, place
        self.name, self.path, self.module = "", "", None

    def text(self):
        return self.source.decode("utf-8", "replace")

    def in_words_of_the_user(self, text):
        return text.replace(self.path, "kernel.py").replace(self.name, "kernel") if self.name else text

    def load(self, name, folder, optimize):
        folder = os.path.join(self.place, folder)
        self.name, self.path = name, os.path.join(folder, name + ".py")
        os.makedirs(folder)
        with open(self.path, "wb") as file:
            file.write(self.source)
        sys.argv[:] = [""]
        sys.path[:] = [folder] + [path for path in sys.path if not path.startswith(JUDGE)]
        spec = importlib.util.spec_from_file_location(name, self.path)
        self.module = importlib.util.module_from_spec(spec)
        sys.modules[name] = self.module
        exec(compile(self.source, self.path, "exec", dont_inherit=True, optimize=optimize), self.module.__dict__)


class Runner:
    def __init__(self, source, place):
        self.kernel = Kernel(source, place)
        self.platform = platform.Platform()
        self.record_fd = -1
        self.kept = []  # results that stay alive, because the judge counts them as in use, even if new memory is mapped
        self.tensors = {}  # arguments of the latest call
        self.lists = {}  # lists among them, by place or name
        self.caller = PYTHON
        for module, name, callers in QUESTIONS:
            setattr(module, name, lambda callers=callers: self.caller in callers and asks(self.kernel.path))

    def handle(self, request, fds):
        try:
            return getattr(self, "do_" + request["op"])(request, fds)
        except BaseException as error:
            return reply_of_error(error, self.kernel)

    def do_ready(self, request, fds):
        return wire.Reply()

    def do_map(self, request, fds):
        self.tensors.clear()
        self.platform.map(request, fds)
        return wire.Reply()

    def do_record(self, request, fds):
        self.platform.record(request, fds[0])
        if self.record_fd >= 0:
            os.close(self.record_fd)
        self.record_fd = fds[0]
        return wire.Reply()

    def do_load(self, request, fds):
        os.environ.update(launched_as(request["rank"]))
        with self.platform.loading(request):
            self.kernel.load(request["module"], request["folder"], 2 if request["optimized"] else 0)
        for name in request["entries"]:
            if not callable(getattr(self.kernel.module, name, None)):
                return wire.Reply(wire.EXCEPTION, "AttributeError: kernel.py defines no function %s" % name)
        return self.with_log(wire.Reply())

    @contextlib.contextmanager
    def settings(self, request):
        torch.set_default_dtype(DEFAULT_TYPES[request["default_type"]])
        self.caller = request["caller"]
        try:
            with GRAD_MODES[request["grad"]]():
                yield
        finally:
            self.caller = PYTHON
            torch.set_default_dtype(torch.float32)

    def with_log(self, reply):
        self.platform.log_to(reply)
        if only_records.STATE.needs_launches:
            reply.status = wire.NEEDS_LAUNCHES
        return reply

    def do_call(self, request, fds):
        args, kwargs = self.arguments(request)
        try:
            entry = self.entry(request["entry"])
            with self.platform.calling(request), self.settings(request):
                tensors = list(self.tensors.values())
                before, members = state_of(tensors), members_of(args, kwargs)
                result = entry(*args, **kwargs)
                check_state(before, tensors)
                check_new(result, self.kept, tensors)
                check_gradients(result, tensors)
                check_lists(members, args, kwargs)
        except BaseException as error:
            return self.with_log(reply_of_error(error, self.kernel))
        reply = self.results(result, request["take"])
        self.kept = self.kept[len(self.kept) - request["keep"]:] + [result]
        return self.with_log(reply)

    def do_repeat(self, request, fds):
        """Call the function many times, so that work that changes with the number of calls has changed when the next call
        comes."""
        args, kwargs = self.arguments(request)
        entry = self.entry(request["entry"])
        reply = wire.Reply()
        limit_ns = 1000 * request["repeat_us"]
        end, latest = thread_time_ns() + limit_ns, monotonic_ns() + BUSY_FACTOR * limit_ns
        try:
            with self.platform.repeating(request), self.settings(request):
                while reply.value < CALLS_MAX and thread_time_ns() < end and monotonic_ns() < latest:
                    entry(*args, **kwargs)
                    reply.value += 1
        except BaseException as error:
            reply = reply_of_error(error, self.kernel)
        return self.with_log(reply)

    def entry(self, name):
        return getattr(self.kernel.module, name)

    def arguments(self, request):
        """Positional and keyword arguments. A tensor that the previous call had, too, is the same object with other elements, as
        when a model passes its weights and buffers, and so is a list."""
        before, self.tensors = self.tensors, {}

        def tensor(arg):
            key = (len(self.tensors), request["parameters"], arg.get("gradient"), arg["at"], arg["dtype"], arg["elements"],
                   arg["first"], *arg["sizes"], None, *arg["strides"])
            known = before.get(key)
            if known is None or list(known.shape) != arg["sizes"] or list(known.stride()) != arg["strides"]:
                known = self.platform.tensor(arg)
                gradient = arg.get("gradient", NO_GRADIENT)
                if request["parameters"] and known.is_floating_point() and gradient != OF_RESULT:
                    known = torch.nn.Parameter(known, requires_grad=False)
                if gradient:
                    known = with_gradient(known, gradient)
            self.tensors[key] = known
            return known

        args, kwargs = wire.call_arguments(request["args"],
                                           lambda arg: tensor(arg) if arg["kind"] == "tensor" else self.value(arg),
                                           tuple if request["tuples"] else list)
        return ([self.known_list(place, value) for place, value in enumerate(args)],
                {name: self.known_list(name, value) for name, value in kwargs.items()})

    def known_list(self, place, value):
        """The list that was the previous call's argument there, with the present members; any other value is itself."""
        if type(value) is not list:
            return value
        known = self.lists.setdefault(place, value)
        known[:] = value
        return known

    def value(self, arg):
        kind = arg["kind"]
        if kind == "float":
            return float(arg["value"])
        if kind == "complex":
            return complex(*map(float, arg["value"]))
        if kind == "dtype":
            return memory.TORCH_DTYPES[arg["value"]]
        if kind == "device":
            return torch.device(self.platform.device)
        return arg["value"]

    def results(self, result, take):
        """Describe the returned values and, if they are taken, copy the tensors' elements into the output memory."""
        reply = wire.Reply()
        if result is None:
            return reply
        values = values_of(result)
        if len(values) > wire.OUTPUTS:
            return wire.Reply(wire.EXCEPTION, "ValueError: returned %d values" % len(values))
        reply.value = 2 if isinstance(result, (tuple, list)) else 1
        used = 0
        for value in values:
            if type(value) in wire.NUMBER_TYPES:
                value, output = self.number(value)
            else:
                output = self.output(value)
            if take and output.kind in (wire.TENSOR, wire.NUMBER):
                used = self.copy_out(value, output, used)
            reply.outputs.append(output)
        return reply

    def output(self, value):
        if value is None:
            return wire.Output(wire.NONE)
        if type(value) is not torch.Tensor and not any(value is tensor for tensor in self.tensors.values()):
            return wire.Output(wire.OTHER, type(value).__name__)
        device = self.platform.device_of(value)
        if value.layout != torch.strided or device != self.platform.device or value.dtype not in memory.DTYPE_NUMBERS:
            return wire.Output(wire.OTHER, "%s %s tensor on %s" % (value.layout, value.dtype, device))
        if value.is_conj() or value.is_neg() or value.dim() > wire.DIMS:
            return wire.Output(wire.OTHER, "tensor with lazy bits or %d dimensions" % value.dim())
        output = wire.Output(wire.TENSOR, "Tensor")
        output.dtype = memory.DTYPE_NUMBERS[value.dtype]
        output.sizes = tuple(value.size())
        output.strides = tuple(value.stride())
        output.where, output.address = self.platform.place(value)
        return output

    def number(self, value):
        name = wire.NUMBER_TYPES[type(value)]
        output = wire.Output(wire.NUMBER, type(value).__name__)
        output.dtype = wire.DTYPES.index(name)
        if name == "int64" and not -2**63 <= value < 2**63:
            return value, wire.Output(wire.OTHER, "int beyond 64 bits")
        return torch.tensor(value, dtype=getattr(torch, name)), output

    def copy_out(self, value, output, used):
        n_bytes = value.numel() * value.element_size()
        start = -(-used // memory.ALIGN) * memory.ALIGN
        if n_bytes == 0 or start + n_bytes > self.platform.out_bytes:
            return used
        self.platform.copy_out(value, start)
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


def main(channel, role, fds, place):
    source = os.pread(fds[0], os.fstat(fds[0]).st_size, 0)
    os.close(fds[0])
    if role == "runner" and len(fds) > 1:
        platform.compile_by(fds[1])
    worker = Facts(source, fds[1]) if role == "facts" else Runner(source, place)
    wire.serve(channel, worker.handle)
