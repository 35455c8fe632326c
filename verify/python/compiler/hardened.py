# SPDX-License-Identifier: MIT
"""Triton's front end for hostile text.

The front end is an interpreter: it visits the syntax tree of a kernel, looks up attributes of Python objects and calls them. In
Triton itself, a kernel can run any Python code, for example tl.core.builtins.exec(...). With this module, the text can use only
the attributes and calls that are listed here by the types of objects. A refusal counts even if the front end catches the
exception, as static_assert does.
"""

import ast
import math
import os
import sys
import types

import triton
import triton.compiler.code_generator as code_generator
import triton.language as tl
import triton.language.extra.cuda.libdevice
import triton.language.extra.libdevice
import triton.language.target_info
import triton.runtime.jit as jit
from triton._utils import is_namedtuple
from triton.backends.compiler import GPUTarget
from triton.runtime import driver

from kernel_text import FromText
from refusal import Refused, brief

TARGET = GPUTarget("cuda", 90, 32)  # the GPU that the CPU replaces
HOME = os.path.dirname(triton.__file__) + os.sep
MODULES = {name for name in sys.modules if (name + ".").startswith("triton.language.")} | {"triton", "math"}
CLAIMED = []  # modules whose attributes are claims
REFUSALS = []  # reasons, for the image that is being made
VISITED = [0]  # number of visited nodes, for the image that is being made
VISITS_MAX = 1 << 20  # thirty times as many as the longest honest kernel has
NUMBER_BITS = 4096
ELEMENTS_MAX = 1 << 16  # of a text or a tuple that a constant expression makes

# Classes that a kernel may name, and those that it may call.
NAMED = {tl.constexpr, tl.range, tl.static_range, tl.tensor, tl.dtype, tl.pointer_type, tl.block_type, tl.tuple, tl.core.slice,
         tl.core.tensor_descriptor, tl.core.tensor_descriptor_base, tl.const}
CALLED = {tl.constexpr, tl.range, tl.static_range, tl.dtype, tl.pointer_type, tl.block_type, tl.tuple, tl.core.slice}
if hasattr(tl, "condition"):
    NAMED.add(tl.condition)
    CALLED.add(tl.condition)
MATH = {value for name, value in vars(math).items() if isinstance(value, types.BuiltinFunctionType)} - {
    math.factorial, math.comb, math.perm, math.lcm, math.prod}  # these can have huge results
PYTHON = (len, list, range, float, int, isinstance, getattr, hasattr)

# Attributes of objects, by their types.
OF_VALUES = {name for kind in (tl.tensor, tl.core.tensor_descriptor, tl.core.tensor_descriptor_base, tl.tuple)
             for name in dir(kind) if not name.startswith("_")}
OF_VALUES |= {"type", "dtype", "shape", "numel", "T", "values", "strides", "block_shape", "block_type"}
OF_VALUES -= {"handle"}
OF_TYPES = {name for kind in (tl.dtype, tl.pointer_type, tl.block_type) for name in dir(kind) if not name.startswith("_")}
OF_TYPES |= {"element_ty", "primitive_bitwidth", "itemsize", "name", "shape", "numel", "scalar", "address_space", "const",
             "int_bitwidth", "fp_mantissa_width", "int_signedness", "exponent_bias"}
OF_TYPES -= {"to_ir", "mangle", "codegen_name", "SIGNEDNESS", "KIND"}
PLAIN = (int, float, bool, str, tuple)
OF_NUMBERS = {"bit_length", "bit_count", "is_integer"}
# Methods that the front end itself calls for operators; text cannot name them.
OPERATORS = {"__%s%s__" % (reflected, name) for reflected in ("", "r")
             for name in "add sub mul truediv floordiv mod pow lshift rshift and or xor".split()}
OPERATORS |= {"__%s__" % name for name in "eq ne lt le gt ge neg pos not invert getitem".split()} | {"logical_and", "logical_or"}


def refuse(why):
    REFUSALS.append(why)
    raise Refused(why)


def is_enum(kind):
    return str(getattr(kind, "__module__", "")).startswith("triton._C.") and hasattr(kind, "__members__")


def is_home(function):
    return function.__code__.co_filename.startswith(HOME)


def of_library(value):
    """Whether text may use this value from the namespace of a shared module."""
    if isinstance(value, types.ModuleType):
        return value.__name__ in MODULES
    if isinstance(value, type):
        return value in NAMED or is_enum(value)
    if isinstance(value, jit.JITCallable):
        return not isinstance(value, FromText) and is_home(value.fn)
    if isinstance(value, types.FunctionType):
        return is_home(value) and (getattr(value, "__triton_builtin__", False) or
                                   value.__module__ == "triton.language.extra.libdevice")
    if isinstance(value, types.BuiltinFunctionType):
        return value in MATH
    return type(value) in (int, float, bool, str, tl.dtype, tl.pointer_type, type(None), tl.constexpr) or is_enum(type(value))


def is_method(fn):
    """Whether fn is a method of a value of the language or of a number, or an operator."""
    owner = getattr(fn, "__self__", None)
    if isinstance(fn, types.MethodType):
        return isinstance(owner, (tl.core.base_value, tl.dtype)) and is_home(fn.__func__)
    if isinstance(fn, types.MethodWrapperType):
        return type(owner) in PLAIN and fn.__name__ in OPERATORS
    return isinstance(fn, types.BuiltinFunctionType) and type(owner) in (int, float, bool) and fn.__name__ in OF_NUMBERS


def may_call(fn):
    if isinstance(fn, type):
        return fn in CALLED or fn in PYTHON or is_namedtuple(fn)
    if isinstance(fn, (FromText, code_generator.BoundJITMethod)) or type(fn).__name__ == "ClaimedFunction":
        return True
    if isinstance(fn, types.BuiltinFunctionType) and fn in PYTHON:
        return True
    return is_method(fn) or not isinstance(fn, types.ModuleType) and callable(fn) and of_library(fn)


def allowed_attributes(value):
    kind = type(value)
    if kind is tl.constexpr:
        return {"value", "type"}
    if isinstance(value, tl.core.base_value):
        return OF_VALUES.union(getattr(value.type, "fields", None) or ())
    if isinstance(value, tl.dtype):
        return OF_TYPES
    if isinstance(value, tuple) and is_namedtuple(kind):
        return set(value._fields)
    if isinstance(value, type) and is_enum(value):
        return set(value.__members__)
    return OF_NUMBERS if kind in (int, float, bool) else set()


def size(value):
    """Bits of a number, elements of anything else."""
    while isinstance(value, tl.constexpr):
        value = value.value
    if isinstance(value, int):
        return abs(value).bit_length(), 0
    if isinstance(value, (str, tuple, list)):
        return 0, len(value)
    return 0, len(value.values) if isinstance(value, tl.tuple) else 0


def check_constant(op, left, right):
    """Refuse a constant expression with a huge result before Python computes it."""
    (bits, length), (other_bits, other_length) = size(left), size(right)
    count = right.value if isinstance(right, tl.constexpr) else right
    if isinstance(op, (ast.Pow, ast.LShift)) and bits and isinstance(count, int):
        grown = bits * abs(count) if isinstance(op, ast.Pow) else bits + abs(count)
        if grown > NUMBER_BITS:
            refuse("a constant expression makes an integer of more than %d bits" % NUMBER_BITS)
    if isinstance(op, ast.Mult) and bits + other_bits > NUMBER_BITS:
        refuse("a constant expression makes an integer of more than %d bits" % NUMBER_BITS)
    if isinstance(op, ast.Mod) and isinstance(left.value if isinstance(left, tl.constexpr) else left, str):
        refuse("a kernel formats text with %")
    if isinstance(op, ast.Mult) and (length or other_length):
        times = max(abs(number) for number in map(plain_integer, (left, right)))
        if max(length, other_length) * times > ELEMENTS_MAX:
            refuse("a constant expression makes more than %d elements" % ELEMENTS_MAX)
    if isinstance(op, ast.Add) and length + other_length > ELEMENTS_MAX:
        refuse("a constant expression makes more than %d elements" % ELEMENTS_MAX)


def plain_integer(value):
    value = value.value if isinstance(value, tl.constexpr) else value
    return value if isinstance(value, int) else 1


class NoReturns(code_generator.ContainsReturnChecker):
    """Triton's check without the examination of variables' attributes, whose result Triton does not use."""

    def visit_Attribute(self, node):
        return False if isinstance(node.value, ast.Name) else self.visit(node.value)

    def visit_Name(self, node):
        return False


class Hardened(code_generator.CodeGenerator):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.is_text = isinstance(self.jit_fn, FromText)

    def visit(self, node):
        VISITED[0] += 1
        if VISITED[0] > VISITS_MAX:
            refuse("making the module takes more than %d steps" % VISITS_MAX)
        return super().visit(node)

    # ---- attributes ----

    def visit_Attribute(self, node):
        if self.is_text and node.attr.startswith("__"):
            refuse("a kernel names the attribute %s" % brief(node.attr))
        return super().visit_Attribute(node)

    def get_Attribute(self, lhs, attr):
        if not self.is_text or attr in OPERATORS:
            return super().get_Attribute(lhs, attr)
        inner = lhs
        while isinstance(inner, tl.constexpr) and attr not in ("value", "type"):
            inner = inner.value
        if isinstance(inner, types.ModuleType):
            return self.of_module(inner, attr)
        if attr not in allowed_attributes(inner):
            refuse("a kernel uses the attribute %s of a %s" % (brief(attr), brief(type(inner).__name__)))
        return super().get_Attribute(lhs, attr)

    def of_module(self, module, attr):
        value = vars(module).get(attr, self)
        if value is self:
            raise AttributeError("module %s has no attribute %s" % (brief(module.__name__), brief(attr)))
        if any(module is claimed for claimed in CLAIMED):
            return value
        if module.__name__ not in MODULES or attr.startswith("__") or not of_library(value):
            refuse("a kernel uses %s of the module %s" % (brief(attr), brief(module.__name__)))
        return value

    def looked_up(self, fn, args):
        """The result of getattr or hasattr in a kernel."""
        if not 2 <= len(args) <= (3 if fn is getattr else 2):
            raise TypeError("%s takes %d arguments" % (fn.__name__, len(args)))
        owner, name = args[0], args[1].value if isinstance(args[1], tl.constexpr) else args[1]
        if type(name) is not str or name.startswith("__") or name in OPERATORS:
            refuse("a kernel names the attribute %s" % brief(name))
        inner = owner
        while isinstance(inner, tl.constexpr) and name not in ("value", "type"):
            inner = inner.value
        try:
            getattr(inner, name)
        except AttributeError:
            if fn is hasattr:
                return tl.constexpr(False)
            if len(args) > 2:
                return args[2]
            raise
        value = self.get_Attribute(owner, name)
        return tl.constexpr(True) if fn is hasattr else value if isinstance(value, tl.core.base_value) else tl.constexpr(value)

    # ---- calls ----

    def call_Function(self, node, fn, args, kws):
        if self.is_text:
            if not may_call(fn):
                refuse("a kernel calls %s" % brief(getattr(fn, "__name__", type(fn).__name__)))
            if not isinstance(fn, FromText) and any(str(name).startswith("_") for name in kws):
                refuse("a kernel gives an argument with the name of one of the front end's")
            if fn in (getattr, hasattr) and isinstance(fn, types.BuiltinFunctionType):
                return self.looked_up(fn, args)
        return super().call_Function(node, fn, args, kws)

    def visit_For(self, node):
        if self.is_text and not (isinstance(node.iter, ast.Call) and isinstance(node.target, ast.Name)):
            refuse("a loop of a kernel is over something else than a range")
        return super().visit_For(node)

    def visit_With(self, node):
        if self.is_text:
            refuse("a kernel has a with statement")
        return super().visit_With(node)

    def print_nothing(self, node):
        for part in (*node.args, *node.keywords):
            self.visit(part)
        return tl.constexpr(None)

    # ---- constant expressions ----

    def _apply_binary_method(self, node, operator, lhs, rhs):
        if self.is_text:
            check_constant(getattr(node, "op", None), lhs, rhs)
        return super()._apply_binary_method(node, operator, lhs, rhs)

    def visit_JoinedStr(self, node):
        result = super().visit_JoinedStr(node)
        if self.is_text and len(result) > ELEMENTS_MAX:
            refuse("a constant expression makes more than %d elements" % ELEMENTS_MAX)
        return result

    statically_implemented_functions = {
        **code_generator.CodeGenerator.statically_implemented_functions,
        **dict.fromkeys((function for function in code_generator.CodeGenerator.statically_implemented_functions
                         if function.__name__ == "static_print"), print_nothing),
    }


class Target:
    """The driver's properties that the language requests."""

    chosen = TARGET
    get_current_device = staticmethod(lambda: 0)
    get_current_target = staticmethod(lambda: Target.chosen)


def target_of(sm):
    """Make modules for a GPU of this compute capability from now on."""
    Target.chosen = GPUTarget(TARGET.backend, sm, TARGET.warp_size)
    return Target.chosen


def prepare():
    """Called once, in the zygote."""
    code_generator.CodeGenerator = Hardened
    code_generator.ContainsReturnChecker = NoReturns
    driver.set_active(Target())
