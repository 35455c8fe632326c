# SPDX-License-Identifier: MIT
"""The trusted worker: computes the right results, once in float64 and once in the given precision.

Candidate code never runs here. Inputs come in a memfd that this process cannot write to. Results go to another memfd, each of
them contiguous.

Requests: {"id", "op"} and
    map     descriptors [inputs, out], "arena_bytes", "out_bytes"
    about   on a GPU: the reply's text is the directory of torch, a line break, and the names of the GPU and its driver;
            its value is the compute capability, 90 for 9.0
    load    descriptor [source], "file": a Python file with reference functions
    call    "target": "aten:add.Tensor" or "python:FILE:FUNCTION", "args", "exact": compute the float64 results too,
            "magnitude": null, "abs" (the float64 results of the absolute values, see term_size) or another target, called in
            the same way; for both, NaN and infinities among the arguments are replaced by zeros, unless the function has a
            true attribute `takes_infinities`.
            "slack": a seed other than 0: every argument lies between random bytes, which the call must not change; 0: no such
            bytes
    sizes   "target", "args": the reply has the types and sizes of the results, found without any data
    time    "target", "args": repeat the call; the reply's value is the median in nanoseconds
    schema  a spec's description of an interface (schema.py): the reply's text names its faults, "" if there are none

Order of results: all native ones, all float64 ones, all magnitudes.
"""

import ctypes
import math
import mmap
import os
import time
import types
import warnings

import torch

import staging
import wire

TORCH_DTYPES = tuple(getattr(torch, name) for name in wire.DTYPES)
DTYPE_NUMBERS = {dtype: number for number, dtype in enumerate(TORCH_DTYPES)}
ALIGN = 64
SLACK = 4096  # bytes on either side of an argument
OTHERS = 256 << 20  # bytes that are written to remove all other data from a GPU's caches
WARM_UPS, CALLS_MIN, CALLS_MAX, CALLS_NS = 3, 5, 30, 300_000_000
DEVICE = os.environ.get("KGB_DEVICE", "cpu")  # "cuda": the only one that is visible


def prepare():
    """Called once, in the zygote: uses everything that loads lazily."""
    warnings.filterwarnings("ignore", message="The given buffer is not writable")
    torch.ops.aten.add.Tensor(torch.ones(2), torch.ones(2, dtype=torch.float64))
    if os.environ.get("KGB_SIZES"):
        torch.ones(2, device="meta").add(1)  # its imports take seconds


def whole_storage(value):
    """All elements in the tensor's storage: some operators read elements of the storage that are not the tensor's."""
    return torch.as_strided(value, (value.untyped_storage().nbytes() // value.element_size(),), (1,), 0)


def widened(value):
    """The value with floating tensors and floating dtypes in float64, complex tensors in complex128, and anything else
    unchanged."""
    if isinstance(value, torch.Tensor) and (value.is_floating_point() or value.is_complex()):
        wide = torch.complex128 if value.is_complex() else torch.float64
        storage = whole_storage(value).to(wide)
        return torch.as_strided(storage, value.size(), value.stride(), value.storage_offset())
    if isinstance(value, torch.dtype) and value.is_floating_point:
        return torch.float64
    return value


def absolute(value):
    """The absolute value of tensors and numbers, anything else unchanged. The smallest integer becomes the largest one."""
    if isinstance(value, torch.Tensor) and value.dtype != torch.bool:
        if value.dtype.is_signed and not value.is_floating_point() and not value.is_complex():
            value = value.clamp(min=-torch.iinfo(value.dtype).max)
        return value.abs()
    if isinstance(value, int) and not isinstance(value, bool):
        return min(abs(value), torch.iinfo(torch.int64).max)
    if isinstance(value, (float, complex)):
        return abs(value)
    return value


def finite(value):
    """The value in float64, with zeros for NaN and infinities: a magnitude is that of the finite terms."""
    value = widened(value)
    if isinstance(value, torch.Tensor) and (value.is_floating_point() or value.is_complex()):
        storage = whole_storage(value)
        parts = torch.view_as_real(storage) if value.is_complex() else storage
        parts.nan_to_num_(0.0, 0.0, 0.0)
    if isinstance(value, float) and not math.isfinite(value):
        return 0.0
    return value


def term_size(value):
    """The size, in float64, that a value gives to the terms it is in. That of a subnormal float16 is the smallest normal number:
    tensor cores align and cut off products by their exponents, of which subnormal numbers all have the lowest."""
    size = absolute(finite(value))
    if isinstance(value, torch.Tensor) and value.dtype == torch.float16:
        least = torch.finfo(torch.float16).smallest_normal
        size = size.clamp(min=least).mul_(size.sign())  # zeros stay zeros
    return size


def exact_form(value, native):
    """The value in float64; in complex128 if the native result is complex. A real value, a magnitude, then stands for both
    parts."""
    if not native.is_complex():
        return value.double()
    return value.to(torch.complex128) if value.is_complex() else torch.complex(value.double(), value.double())


FACTORY_ARGUMENTS = ("dtype", "layout", "device", "pin_memory")  # an overload with out parameters takes these from them


def inputs_of(function):
    return [(argument.name, str(argument.type)) for argument in function._schema.arguments
            if not argument.is_out and argument.name not in FACTORY_ARGUMENTS]


def aten_function(target):
    """torch.ops.aten.<name>.<overload>; for an overload with out parameters its functional sibling where these are not passed,
    since results are returned here. Left to choose by the arguments, torch would describe them for each overload that does not
    fit, and so print tensors."""
    name, _, overload = target.partition(".")
    packet = getattr(torch.ops.aten, name)
    function = getattr(packet, overload or "default")
    outs = {argument.name for argument in function._schema.arguments if argument.is_out}
    if not outs:
        return function
    sibling = next(other for other in (getattr(packet, name) for name in packet.overloads())
                   if inputs_of(other) == inputs_of(function) and
                   not any(argument.is_out for argument in other._schema.arguments))
    return lambda *args, **kwargs: (function if outs & kwargs.keys() else sibling)(*args, **kwargs)


def driver_version():
    """The CUDA version of the driver, as 1000 * major + 10 * minor; torch 2.11 has no call for it."""
    version = ctypes.c_int()
    status = ctypes.CDLL("libcuda.so.1").cuDriverGetVersion(ctypes.byref(version))
    if status:
        raise OSError("cuDriverGetVersion: error %d" % status)
    return version.value


def demand_no_wait(call):
    """The judge times a replay of the call on other inputs, so the host must not read the results of the device's work."""
    torch.cuda.set_sync_debug_mode("error")
    try:
        call()
    finally:
        torch.cuda.set_sync_debug_mode("default")


def measured(call):
    """The times of several calls, in nanoseconds."""
    times, began = [], time.monotonic_ns()
    on_gpu = DEVICE != "cpu"
    others = torch.empty(OTHERS if on_gpu else 0, dtype=torch.uint8, device=DEVICE)
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2)) if on_gpu else (None, None)
    for _ in range(WARM_UPS):
        call()
    if on_gpu:
        demand_no_wait(call)
    while len(times) < CALLS_MIN or (len(times) < CALLS_MAX and time.monotonic_ns() - began < CALLS_NS):
        if on_gpu:
            others.zero_()
            begin.record()
            call()
            end.record()
            end.synchronize()
            times.append(begin.elapsed_time(end) * 1e6)
        else:
            started = time.monotonic_ns()
            call()
            times.append(time.monotonic_ns() - started)
    return times


class Reference:
    def __init__(self):
        self.inputs = None
        self.out = None
        self.out_view = None
        self.files = ()  # descriptors of both
        self.staging = None  # made for the first large copy
        self.uploaded = {}  # large storages of the request, on the GPU, which no operator gets
        self.device = DEVICE
        self.modules = {}
        self.places = {}
        self.slack = 0
        self.padded = []

    def handle(self, request, fds):
        try:
            return getattr(self, "do_" + request["op"])(request, fds)
        except Exception as error:
            return wire.Reply(wire.EXCEPTION, "%s: %s" % (type(error).__name__, error))
        finally:
            self.uploaded = {}

    def do_map(self, request, fds):
        self.inputs = mmap.mmap(fds[0], request["arena_bytes"], prot=mmap.PROT_READ)
        self.out = mmap.mmap(fds[1], request["out_bytes"])
        self.out_view = torch.frombuffer(self.out, dtype=torch.uint8)
        self.close()
        self.files = fds
        return wire.Reply()

    def close(self):
        """Close the files: this process may serve other verifications."""
        for fd in self.files:
            os.close(fd)
        self.files = ()

    def do_load(self, request, fds):
        source = os.pread(fds[0], os.fstat(fds[0]).st_size, 0)
        os.close(fds[0])
        module = types.ModuleType("kgb_reference")
        exec(compile(source, request["file"], "exec"), module.__dict__)
        self.modules[request["file"]] = module
        return wire.Reply()

    def do_about(self, request, fds):
        """The directory of torch, and the names of the GPU and its driver."""
        names = "%s, CUDA %d" % (torch.cuda.get_device_name(0), driver_version())
        reply = wire.Reply(wire.OK, "%s\n%s" % (os.path.dirname(torch.__file__), names))
        major, minor = torch.cuda.get_device_capability(0)
        reply.value = 10 * major + minor
        return reply

    def function(self, target):
        kind, _, rest = target.partition(":")
        if kind == "aten":
            return aten_function(rest)
        file, _, name = rest.partition(":")
        return getattr(self.modules[file], name)

    def argument(self, arg):
        kind = arg["kind"]
        if kind == "tensor":
            dtype = TORCH_DTYPES[arg["dtype"]]
            if arg["elements"] == 0 or self.device == "meta":
                return torch.empty_strided(arg["sizes"], arg["strides"], dtype=dtype, device=self.device)
            # A copy of the storage: an in-place operator may write to it.
            storage = torch.frombuffer(self.inputs, dtype=dtype, count=arg["elements"], offset=arg["at"])
            storage = self.between_noise(storage) if self.slack else self.copied(storage, arg["at"])
            self.places[storage.untyped_storage().data_ptr()] = (arg["at"], storage)
            return torch.as_strided(storage, arg["sizes"], arg["strides"], arg["first"])
        if kind == "float":
            return float(arg["value"])
        if kind == "complex":
            return complex(*map(float, arg["value"]))
        if kind == "dtype":
            return TORCH_DTYPES[arg["value"]]
        if kind == "device":
            return torch.device(self.device)
        return arg["value"]

    def is_staged(self, n_bytes):
        if DEVICE == "cpu" or n_bytes < staging.LEAST:
            return False
        self.staging = self.staging or staging.Staging()
        return True

    def copied(self, storage, at):
        """A copy of a storage in the inputs on the device."""
        n_bytes = storage.numel() * storage.element_size()
        if not self.is_staged(n_bytes):
            return storage.to(DEVICE, copy=True)
        key = at, storage.dtype
        if key not in self.uploaded:
            self.uploaded[key] = torch.empty(storage.numel(), dtype=storage.dtype, device=DEVICE)
            self.staging.upload(self.files[0], at, self.uploaded[key].view(torch.uint8))
        return self.uploaded[key].clone()

    def between_noise(self, storage):
        """A copy of the storage between SLACK random bytes on either side."""
        n_bytes = storage.numel() * storage.element_size()
        maker = torch.Generator().manual_seed(self.slack + len(self.padded))
        noise = torch.randint(0, 256, (n_bytes + 2 * SLACK,), dtype=torch.uint8, generator=maker).to(DEVICE)
        self.padded.append((noise, noise[:SLACK].clone(), noise[-SLACK:].clone()))
        middle = torch.empty(0, dtype=storage.dtype, device=DEVICE)
        middle.set_(noise.untyped_storage()[SLACK:SLACK + n_bytes], 0, (storage.numel(),), (1,))
        return middle.copy_(storage)

    def check_noise(self):
        for noise, before, behind in self.padded:
            if not torch.equal(noise[:SLACK], before) or not torch.equal(noise[-SLACK:], behind):
                raise IndexError("it writes outside of its arguments")
        self.padded = []

    def run(self, request, target, change):
        """The results as a list. `change`, unless it is None, is applied to every argument, and the default type is then
        float64."""
        def value_of(arg):
            return change(self.argument(arg)) if change else self.argument(arg)

        args, kwargs = wire.call_arguments(request["args"], value_of)
        torch.set_default_dtype(torch.float64 if change else torch.float32)
        with torch.no_grad():
            result = self.function(target)(*args, **kwargs)
        results = list(result) if isinstance(result, (tuple, list)) else [result]
        if type(result) in wire.NUMBER_TYPES:
            results = [torch.tensor(result, dtype=getattr(torch, wire.NUMBER_TYPES[type(result)]))]
        for value in results:
            if not isinstance(value, torch.Tensor):
                raise TypeError("%s returned %s, not a tensor" % (target, type(value).__name__))
        return results

    def run_exact(self, request, target, change, native):
        """The results in float64; they must have the same sizes."""
        results = self.run(request, target, change)
        if [tuple(value.size()) for value in results] != [tuple(value.size()) for value in native]:
            raise ValueError("%s gives other sizes in float64 than natively" % target)
        return [exact_form(value, like) for value, like in zip(results, native)]

    def do_time(self, request, fds):
        """The median time of the call; on a GPU between events, with other data in the L2 cache."""
        args, kwargs = wire.call_arguments(request["args"], self.argument)
        self.places, self.uploaded = {}, {}
        function = self.function(request["target"])
        with torch.no_grad():
            times = measured(lambda: function(*args, **kwargs))
        reply = wire.Reply()
        reply.value = int(sorted(times)[len(times) // 2])
        return reply

    def do_sizes(self, request, fds):
        """The sizes of the results, by a call on tensors without memory. Fails if a size depends on a tensor's contents."""
        reply = wire.Reply()
        self.device = "meta"
        try:
            for value in self.run(request, request["target"], None):
                self.tell_sizes(reply, value)
        finally:
            self.device = DEVICE
        return reply

    def do_schema(self, request, fds):
        import schema  # only lints need it

        return wire.Reply(wire.OK, "\n".join(schema.problems(request)))

    def do_call(self, request, fds):
        target, magnitude = request["target"], request["magnitude"]
        self.places = {}
        self.slack, self.padded = request.get("slack", 0), []
        native = self.run(request, target, None)
        self.check_noise()
        places, self.places = self.places, {}
        values = list(native)
        if request["exact"]:
            values += self.run_exact(request, target, widened, native)
        if not request["exact"]:
            magnitude = None
        if magnitude == "abs":
            values += self.run_exact(request, target, term_size, native)
        elif magnitude:
            takes_all = getattr(self.function(magnitude), "takes_infinities", False)
            values += self.run_exact(request, magnitude, widened if takes_all else finite, native)
        reply = wire.Reply()
        used = 0
        for value in values:
            used = self.put(reply, value, used)
        self.tell_aliases(reply, native, places)
        reply.value = used
        return reply

    def tell_aliases(self, reply, native, places):
        """For native results that are views of an argument: report their places, as if the argument were still in the arena."""
        for output, value in zip(reply.outputs, native):
            place = places.get(value.untyped_storage().data_ptr())
            if place and value.numel():
                output.where = wire.ARENA
                output.address = place[0] + value.storage_offset() * value.element_size()

    def put(self, reply, value, used):
        """Copy one result to the output memory, and return the bytes used so far. A result that does not fit is only counted."""
        output = self.tell_sizes(reply, value)
        n_bytes = value.numel() * value.element_size()
        start = -(-used // ALIGN) * ALIGN
        if n_bytes and start + n_bytes <= len(self.out):
            dense = value.detach().contiguous().as_strided((value.numel(),), (1,))
            if self.is_staged(n_bytes):
                self.staging.download(dense.view(torch.uint8), self.files[1], start)
            else:
                self.out_view[start:start + n_bytes] = dense.view(torch.uint8)
            output.offset = start
            output.n_bytes = n_bytes
        return start + n_bytes

    def tell_sizes(self, reply, value):
        """Add an output with the value's type, sizes and strides to the reply, and return it."""
        output = wire.Output(wire.TENSOR, "Tensor")
        output.dtype = DTYPE_NUMBERS[value.dtype]
        output.sizes = tuple(value.size())
        output.strides = tuple(value.stride())
        reply.outputs.append(output)
        return output


def main(channel):
    reference = Reference()
    try:
        wire.serve(channel, reference.handle)
    finally:
        reference.close()
