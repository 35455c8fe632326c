# SPDX-License-Identifier: MIT
"""Allowed values in an interpreted kernel: tensors, numbers, text, types and tuples of them, of exactly these classes, and
Triton's own objects. An object of a candidate's class could compute by its operators.
"""

import collections
import functools
import inspect
import os
import types

import torch
import triton
import triton.language as tl
import triton.runtime.interpreter as interpreter
import triton.runtime.jit as jit
from triton._utils import is_namedtuple
from triton.tools.tensor_descriptor import TensorDescriptor

import interpreter_fixes
from host_code import NotTriton

PLAIN_TYPES = (torch.Tensor, torch.nn.Parameter, bool, int, float, str, type(None), torch.dtype)
HOME = os.path.dirname(triton.__file__) + os.sep
TRITON_TYPES = set()  # before a candidate was loaded
OWN_TUPLES = {}  # named tuples that are the runner's: names of fields and defaults


def all_types(kind=object):
    for derived in type.__subclasses__(kind):
        yield derived
        yield from all_types(derived)


def is_triton(value):
    """Triton's own object, or a jit function."""
    if type(value) is interpreter.InterpretedFunction:
        return True
    if isinstance(value, types.FunctionType):
        if value in interpreter_fixes.WRAPPED:
            return True
        inner = inspect.unwrap(value)
        return value.__code__.co_filename.startswith(HOME) and (inner is value or is_triton(inner))
    if isinstance(value, types.MethodType):
        return is_triton(value.__func__)
    if isinstance(value, types.BuiltinFunctionType):
        return str(value.__module__).startswith("triton.")
    if type(value) is functools.partial:
        return is_triton(value.func)
    if type(value) is jit.ConstexprFunction:
        return value.fn.__code__.co_filename.startswith(HOME)
    return value in TRITON_TYPES if isinstance(value, type) else is_data(value)


def is_data(value):
    """An object of Triton without parts that a candidate could have put there."""
    kind = type(value)
    if kind is tl.pointer_type:
        return is_data(value.element_ty)
    return kind is tl.dtype or (kind in TRITON_TYPES and kind.__module__.startswith("triton._C."))


def own_tuple(kind):
    """A named tuple of the same fields without objects of the candidate."""
    if kind in OWN_TUPLES:
        return kind
    names, defaults = tuple(map(str, kind._fields)), {name: plain(value) for name, value in kind._field_defaults.items()}
    key = names, repr(defaults)
    for made, known in OWN_TUPLES.items():
        if known == key:
            return made
    made = collections.namedtuple("Tuple", names, defaults=[defaults[name] for name in names if name in defaults])
    OWN_TUPLES[made] = key
    return made


def plain_tensor(value):
    if type(value) is jit.TensorWrapper:
        if type(value.dtype) not in (torch.dtype, tl.dtype):
            raise NotTriton("'%s' cannot be the type of a tensor" % type(value.dtype).__qualname__)
        return jit.TensorWrapper(plain_tensor(value.base), value.dtype)
    if type(value) not in (torch.Tensor, torch.nn.Parameter):
        raise NotTriton("'%s' cannot be the tensor of a kernel" % type(value).__qualname__)
    return value


def plain(value):
    """An argument without objects of the candidate: numbers and tuples of its classes become Python's."""
    kind = type(value)
    if kind is tl.constexpr:
        return tl.constexpr(plain(value.value))
    if kind is jit.TensorWrapper:
        return plain_tensor(value)
    if kind is TensorDescriptor:
        return TensorDescriptor(plain_tensor(value.base), *(list(map(plain, part)) for part in (
            value.shape, value.strides, value.block_shape)), plain(value.padding), plain(value.round_f32_to_tf32))
    if kind in PLAIN_TYPES or (is_triton(value) and not isinstance(value, (tuple, list))):
        return value
    for base in (tuple, list):
        if issubclass(kind, base):
            parts = map(plain, base.__iter__(value))
            return own_tuple(kind)(*parts) if is_namedtuple(kind) else base(parts)
    for base, function in ((int, int.__int__), (float, float.__float__), (str, str.__str__)):
        if issubclass(kind, base):
            return function(value)
    raise NotTriton("'%s' cannot be an argument of a kernel" % getattr(value, "__qualname__", kind.__qualname__))


def is_exact(value):
    if type(value) in (tuple, list):
        return all(map(is_exact, value))
    if type(value) is tl.constexpr:
        return is_exact(value.value)
    return type(value) in PLAIN_TYPES or is_triton(value)


def is_attribute(value):
    """Allowed values of an attribute in a kernel; calls are checked when they happen."""
    return isinstance(value, (types.FunctionType, types.MethodType, types.BuiltinFunctionType, types.ModuleType,
                              jit.JITCallable, tl.core.base_value)) or type(value) in TRITON_TYPES or is_exact(value)


def prepare():
    TRITON_TYPES.update(kind for kind in all_types() if kind.__module__.partition(".")[0] == "triton")
