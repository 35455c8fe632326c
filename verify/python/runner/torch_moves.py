# SPDX-License-Identifier: MIT
"""Torch's work outside of kernels, in a runner that records on the CPU. Torch's memory comes from the pool, and its fills and
copies become operations of the record. Other operators run, too, so that the candidate's code goes on; in the record they are
operations that no replay can repeat. A tensor that a candidate makes without a device is memory of the host, as beside a GPU: it
stays outside of the pool, where no kernel can reach it, until the candidate sends it to a device.

If code escapes this log, the record lacks its work, and the replay gives wrong results.
"""

import functools

import torch
import torch.utils._device
from torch.utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode

import cpu_trace
import memory
import torch_operators
import wire


class State:
    """The state of this process."""

    def __init__(self):
        self.ops = []  # names of operators that a candidate may not run
        self.allowed = frozenset()
        self.parts_only = frozenset()
        self.own = set()  # names of operators that the candidate registered
        self.paused = 0
        self.on_host = 0  # above 0: torch is making a tensor without a device

    def note(self, name):
        if name not in self.ops and len(self.ops) < wire.OPS:
            self.ops.append(name)


STATE = State()


class Pause:
    """A context in which calls of torch are the runner's own and are not recorded."""

    def __enter__(self):
        STATE.paused += 1

    def __exit__(self, *_):
        STATE.paused -= 1


PAUSE = Pause()


def is_tensor(value):
    return isinstance(value, torch.Tensor)


def same_storage(first, second):
    return first.untyped_storage().data_ptr() == second.untyped_storage().data_ptr()


def is_unpooled(value):
    """Whether the value is a tensor with elements outside of arena and pool: memory of the host, or of torch's present call."""
    return (is_tensor(value) and value.layout == torch.strided and not cpu_trace.holds(value) and value.device.type == "cpu"
            and value.numel() > 0)


def stays_on_host(args):
    tensors = [arg for arg in args if is_tensor(arg)]
    return all(map(is_unpooled, tensors)) if tensors else STATE.on_host > 0


def pooled(tensor, args=(), keep=True):
    """A copy of the tensor in memory of the pool; the tensor itself if it lies there, has no elements, or stays on the host."""
    if not is_unpooled(tensor) or stays_on_host(args) or any(is_tensor(arg) and same_storage(arg, tensor) for arg in args):
        return tensor
    taken = cpu_trace.tensor_like(tensor)
    return taken.copy_(tensor) if keep else taken


# ---- operators: each takes (function, args, kwargs), while Watch is off ----

def allocate(function, args, kwargs):
    return pooled(function(*args, **kwargs), args, keep=False)


def fill_new(function, args, kwargs):
    result = pooled(function(*args, **kwargs), args)
    cpu_trace.fill(result)
    return result


def fill_old(function, args, kwargs):
    result = function(*args, **kwargs)
    value = args[1] if len(args) > 1 else None
    if is_tensor(value) and cpu_trace.holds(value):
        cpu_trace.copy(args[0], value)
    else:
        cpu_trace.fill(args[0])
    return result


def upload_new(function, args, kwargs):
    """A new tensor with contents that the host has made: lists, ranges, numbers."""
    result = pooled(function(*args, **kwargs))
    (cpu_trace.fill if result.numel() == 1 else cpu_trace.upload)(result)
    return result


def copy_new(function, args, kwargs):
    result = pooled(function(*args, **kwargs), args)
    cpu_trace.copy(result, args[0])
    return result


def copy_old(function, args, kwargs):
    result = function(*args, **kwargs)
    cpu_trace.copy(args[0], args[1])
    return result


def resize(function, args, kwargs):
    """Give a tensor whose storage is too small a larger one, because storage in the pool cannot grow; copy the old elements."""
    tensor = args[0]
    if is_unpooled(tensor):
        return function(*args, **kwargs)
    wanted = torch.empty(tuple(args[1]), dtype=tensor.dtype, device="meta")
    n_old, n_new = tensor.untyped_storage().nbytes() // tensor.element_size(), tensor.storage_offset() + wanted.numel()
    if n_new == 0 or (cpu_trace.holds(tensor) and n_new <= n_old):
        return function(*args, **kwargs)
    larger = pooled(torch.empty(n_new, dtype=tensor.dtype), keep=False)
    if cpu_trace.holds(tensor):
        target = larger[:n_old]
        source = torch.as_strided(tensor, (n_old,), (1,), 0)
        target.copy_(source)
        cpu_trace.copy(target, source)
    return tensor.set_(larger.untyped_storage(), tensor.storage_offset(), wanted.size(), wanted.stride())


def read(function, args, kwargs):
    cpu_trace.download(args[0])
    return function(*args, **kwargs)


def view(function, args, kwargs):
    """An operator that a candidate may run. If its result is not in recorded memory, its origin is unknown, and no replay can
    repeat it."""
    result = function(*args, **kwargs)
    if not is_tensor(result):
        return result
    taken = pooled(result, args)
    if taken is not result:
        cpu_trace.unsupported("torch: %s" % function.name())
    return taken


def compute(function, args, kwargs):
    STATE.note(function.name())
    cpu_trace.unsupported("torch: %s" % function.name())
    result = function(*args, **kwargs)
    if type(result) in (tuple, list):
        return type(result)(pooled(one, args) for one in result)
    return pooled(result, args)


def each(handler, *names):
    return {"aten::" + name: handler for name in names}


HANDLERS = {
    **each(allocate, "empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided"),
    **each(fill_new, "full", "full_like", "new_full", "new_ones", "new_zeros", "ones", "ones_like", "scalar_tensor", "zeros",
           "zeros_like"),
    **each(fill_old, "fill_", "zero_"),
    **each(upload_new, "arange", "lift_fresh", "lift_fresh_copy"),
    **each(copy_new, "_to_copy", "clone"),
    **each(copy_old, "copy_"),
    **each(resize, "resize_"),
    **each(read, "_local_scalar_dense"),
}


class Watch(TorchDispatchMode):
    @classmethod
    def _should_skip_dynamo(cls):
        return False  # dynamo never runs here, and torch's wrapper that turns it off costs as much as the rest

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if STATE.paused:
            return func(*args, **kwargs)
        name = func._schema.name
        if name in STATE.parts_only:
            # In inference mode an operator that only calls other operators arrives here, too: record only those.
            with self:
                return func.decompose(*args, **kwargs)
        if name in STATE.own:
            return func(*args, **kwargs)  # its functions are watched (watch_own)
        if name in HANDLERS and (name in STATE.allowed or HANDLERS[name] is read):
            return HANDLERS[name](func, args, kwargs)
        return (view if name in STATE.allowed else compute)(func, args, kwargs)


# ---- operators of the candidate (torch.library) ----

def watched(function):
    """Wrap a function of the candidate, which torch calls below Watch, so that its work is recorded like all other work."""
    @functools.wraps(function)
    def call(*args, **kwargs):
        if STATE.paused or _get_current_dispatch_mode() is not None:
            return function(*args, **kwargs)
        with Watch():
            return function(*args, **kwargs)
    return call


def watch_own():
    known = torch_operators.names()
    impl = torch.library.Library.impl

    def own_impl(self, op_name, fn, *args, **kwargs):
        name = (op_name if isinstance(op_name, str) else op_name._schema.name).partition(".")[0]
        name = name if "::" in name else "%s::%s" % (self.ns, name)
        if name in known or fn is torch.library.fallthrough_kernel:
            return impl(self, op_name, fn, *args, **kwargs)
        STATE.own.add(name)
        return impl(self, op_name, watched(fn), *args, **kwargs)

    torch.library.Library.impl = own_impl


# ---- devices: there is only one ----

def names_device(values):
    return any(isinstance(value, (torch.device, str)) or is_tensor(value) and not is_unpooled(value) for value in values)


def has_default_device():
    return any(isinstance(torch._C._get_function_stack_at(i), torch.utils._device.DeviceContext)
               for i in range(torch._C._len_torch_function_stack()))


def sent(tensor):
    """A copy of a tensor of the host in the memory of the device."""
    with PAUSE:
        is_whole = memory.reach_of(tensor.size(), tensor.stride()) == tensor.numel()
        source = tensor.detach() if is_whole else tensor.detach().contiguous()
        taken = cpu_trace.tensor_like(source).copy_(source)
    (cpu_trace.fill if taken.numel() == 1 else cpu_trace.upload)(taken)
    return taken


def placed(owner, name, is_factory=False):
    """Replace a function of torch: its result is memory of the device if its call names one. Without a device, a factory's result
    is memory of the host."""
    function = getattr(owner, name)

    @functools.wraps(function)
    def call(*args, **kwargs):
        if STATE.paused:
            return function(*args, **kwargs)
        named = names_device((*args, kwargs.get("device"), kwargs.get("other")))
        makes_on_host = is_factory and not named and not has_default_device()
        STATE.on_host += makes_on_host
        try:
            result = function(*args, **kwargs)
        finally:
            STATE.on_host -= makes_on_host
        return sent(result) if named and is_unpooled(result) else result

    setattr(owner, name, call)


# ---- reads by methods that call no operator ----

def reads(owner, name):
    function = getattr(owner, name)

    def call(self, *args, **kwargs):
        if STATE.paused:
            return function(self, *args, **kwargs)
        cpu_trace.download(self)
        with PAUSE:
            return function(self, *args, **kwargs)

    setattr(owner, name, call)


def prepare():
    """Called once, in the zygote."""
    STATE.parts_only = torch_operators.composite()
    watch_own()
    constructors = torch.utils._device._device_constructors()
    for name in [name for name, value in vars(torch).items() if callable(value) and value in constructors]:
        placed(torch, name, is_factory=True)
    for name in ("empty_like", "full_like", "ones_like", "zeros_like"):
        placed(torch, name)
    for name in ("to", "new_empty", "new_empty_strided", "new_full", "new_ones", "new_tensor", "new_zeros"):
        placed(torch.Tensor, name)
    for name in ("tolist", "numpy", "__array__", "__dlpack__", "__reduce_ex__", "__deepcopy__", "__repr__", "__str__",
                 "apply_", "map_", "map2_"):
        reads(torch.Tensor, name)
