# SPDX-License-Identifier: MIT
"""Torch's fills and copies in a call that is only recorded on a GPU (deferred.py). Torch does them, and the record has what the GPU
did; this module adds what that means, in the form that the machine for Triton's IR executes (docs/record-format.md). A fill or copy
that is not described here is replayed by the GPU.
"""

import ctypes

import torch
from torch.utils._python_dispatch import TorchDispatchMode

import move_words
import torch_operators

FULL = torch.full  # the function itself: a candidate may replace the name


class State:
    """The state of this process."""

    def __init__(self):
        self.trace = None  # the library that writes the record
        self.parts_only = frozenset()


STATE = State()


def on_gpu(value):
    return isinstance(value, torch.Tensor) and value.device.type == "cuda" and value.numel() > 0


def element_of(value, dtype):
    """The bytes of an element of this type, as torch converts the number."""
    one = FULL((1,), value, dtype=dtype, device="cpu")
    return ctypes.string_at(one.data_ptr(), one.element_size())


def present_stream():
    return torch.cuda.current_stream().cuda_stream


def record(first, name, params, why):
    if not why:
        STATE.trace.move(first, name, present_stream(), params)


def filled(first, target, value):
    if isinstance(value, torch.Tensor) and on_gpu(value):
        copied(first, target, value)
    elif on_gpu(target):
        number = value.item() if isinstance(value, torch.Tensor) else value
        record(first, "fill", *move_words.fill(target, element_of(number, target.dtype)))


def copied(first, target, source):
    if on_gpu(target) and on_gpu(source):
        record(first, "copy", *move_words.copy(target, source))


def argument(args, kwargs, position, name):
    return args[position] if len(args) > position else kwargs[name]


def constant(value):
    return lambda first, args, kwargs, result: filled(first, result, value)


def number_at(position, name):
    return lambda first, args, kwargs, result: filled(first, result, argument(args, kwargs, position, name))


def each(handler, *names):
    return {"aten::" + name: handler for name in names}


DESCRIBED = {
    **each(constant(0), "new_zeros", "zeros", "zeros_like"),
    **each(constant(1), "new_ones", "ones", "ones_like"),
    **each(number_at(1, "fill_value"), "full", "full_like"),
    **each(number_at(2, "fill_value"), "new_full"),
    **each(number_at(0, "s"), "scalar_tensor"),
    **each(lambda first, args, kwargs, result: filled(first, args[0], 0), "zero_"),
    **each(lambda first, args, kwargs, result: filled(first, args[0], argument(args, kwargs, 1, "value")), "fill_"),
    **each(lambda first, args, kwargs, result: copied(first, result, args[0]), "_to_copy", "clone"),
    **each(lambda first, args, kwargs, result: copied(first, args[0], argument(args, kwargs, 1, "src")), "copy_"),
}


class Watch(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = func._schema.name
        if name in STATE.parts_only:
            # In inference mode an operator that only calls other operators arrives here, too.
            with self:
                return func.decompose(*args, **kwargs)
        describe = DESCRIBED.get(name)
        if describe is None:
            return func(*args, **kwargs)
        first = STATE.trace.ops()
        result = func(*args, **kwargs)
        describe(first, args, kwargs, result)
        return result


def prepare(trace):
    """Called once, in the zygote."""
    STATE.trace = trace
    STATE.parts_only = torch_operators.composite()
    with Watch():  # torch's first mode imports what takes seconds
        torch.ones(1, device="cpu").clone()
