# SPDX-License-Identifier: MIT
"""Makes Triton's interpreter refuse what Triton's compiler refuses.

The interpreter runs the body of a kernel as Python. Python functions called there, objects with operators of their own and
the text of a tensor would all compute without Triton, in code that no GPU accepts. The rules are those of the compiler's
front end (triton/compiler/code_generator.py): which globals a kernel may use, what may be called with tensors, what may be
an argument.
"""

import ast
import builtins
import copy
import dis
import functools
import inspect
import linecache
import types

import torch
import triton.language as tl
import triton.runtime.interpreter as interpreter
import triton.runtime.jit as jit
from triton.tools.tensor_descriptor import TensorDescriptor

# Python's builtins that the compiler knows; the first ones take tensors.
TAKE_TENSORS = (len, range, isinstance, getattr, hasattr, print, min, max)
KNOWN_BUILTINS = frozenset(function.__name__ for function in TAKE_TENSORS + (list, float, int))
INJECTED = ("interpreter_semantic", "_InterpreterComparison")
PLAIN_TYPES = (torch.Tensor, jit.TensorWrapper, TensorDescriptor, bool, int, float, str, type(None), torch.dtype, tl.dtype,
               tl.constexpr)
OPERATORS = frozenset("__%s__" % name for name in (
    "call add radd sub rsub mul rmul truediv rtruediv floordiv rfloordiv mod rmod pow rpow matmul rmatmul and rand or ror "
    "xor rxor lshift rlshift rshift rrshift neg pos invert abs lt le gt ge getitem setitem iter next index float int bool "
    "len contains enter exit").split())


class NotTriton(Exception):
    """The compiler would refuse this kernel."""


def is_value(value):
    """A tensor of a kernel, or a tuple that holds one."""
    return isinstance(value, tl.core.base_value) or (
        isinstance(value, (tuple, list)) and any(is_value(part) for part in value))


def is_triton(value):
    """Something that Triton itself offers, or a jit function."""
    while isinstance(value, functools.partial):
        value = value.func
    if isinstance(value, (jit.KernelInterface, jit.JITCallable)) or getattr(value, "__triton_aggregate__", False):
        return True
    module = getattr(value, "__module__", None)
    return isinstance(module, str) and (module == "triton" or module.startswith("triton."))


def is_namedtuple(value):
    return isinstance(value, type) and issubclass(value, tuple) and hasattr(value, "_fields")


# ---- calls inside a kernel ----

def checked(function):
    """What a kernel is about to call, or an exception."""
    if isinstance(function, tl.constexpr):
        function = function.value
    constant = isinstance(function, jit.ConstexprFunction) and not is_triton(function.fn)
    if (is_triton(function) and not constant) or is_value(getattr(function, "__self__", None)) or is_namedtuple(function) or \
            any(function is known for known in TAKE_TENSORS):
        return function
    name = getattr(function, "__qualname__", type(function).__qualname__)
    if not constant and not isinstance(function, (types.BuiltinFunctionType, type)):
        raise NotTriton("a kernel cannot call the Python function '%s'; decorate it with @triton.jit" % name)

    def with_constants(*args, **kwargs):
        if is_value(args) or is_value(tuple(kwargs.values())):
            raise NotTriton("'%s' is Python's and takes no tensors; use triton.language" % name)
        return function(*args, **kwargs)

    return with_constants


class CheckCalls(ast.NodeTransformer):
    def visit_Call(self, node):
        self.generic_visit(node)
        node.func = ast.copy_location(ast.Call(func=ast.Name(id="_kgb_checked", ctx=ast.Load()), args=[node.func],
                                               keywords=[]), node.func)
        return node


# ---- the source of a kernel ----

@functools.lru_cache(maxsize=1)
def parsed(filename, lines):
    return ast.parse("".join(lines), filename)


def definition_of(fn):
    """The def statement of a function, found by its place and not by what its lines look like; None when there is none."""
    filename = inspect.getsourcefile(fn)
    for node in ast.walk(parsed(filename, tuple(linecache.getlines(filename)))):
        if isinstance(node, ast.FunctionDef) and node.name == fn.__name__ and \
                fn.__code__.co_firstlineno == min([node.lineno] + [line.lineno for line in node.decorator_list]):
            return copy.deepcopy(node)
    return None


def rewrite_ast(self):
    """In place of FunctionRewriter's own, which takes the last line that starts with "def ", be it in a docstring, and
    leaves all that the interpreter has imported among the candidate's globals."""
    fn = self.fn
    node = definition_of(fn)
    if node is None:
        raise NotTriton("the source of '%s' cannot be found" % fn.__name__)
    check_globals(fn)
    node.decorator_list = []
    node.body = [CheckCalls().visit(statement) for statement in node.body]
    tree = self.ast_transformer.visit(ast.Module(body=[node], type_ignores=[]))
    code = compile(ast.fix_missing_locations(tree), fn.__code__.co_filename, "exec", dont_inherit=True)
    namespace = {}
    for name in INJECTED:
        fn.__globals__.setdefault(name, getattr(interpreter, name))
    fn.__globals__.setdefault("_kgb_checked", checked)
    exec(code, fn.__globals__, namespace)
    return namespace[fn.__name__]


# ---- globals, arguments, text ----

def globals_of(code):
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            yield instruction.argval
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from globals_of(constant)


def check_globals(fn):
    for name in globals_of(fn.__code__):
        value = fn.__globals__.get(name)
        if value is None or name in KNOWN_BUILTINS or is_namedtuple(value) or is_triton(value) or \
                isinstance(value, (types.ModuleType, tl.constexpr, tl.dtype)):
            continue
        raise NotTriton("the kernel '%s' uses the global variable '%s'; write %s = tl.constexpr(...)" % (
            fn.__name__, name, name))


def check_argument(value):
    if isinstance(value, (tuple, list)):
        for part in value:
            check_argument(part)
        return
    kind = type(value)
    if kind in PLAIN_TYPES or is_triton(value):
        return
    own = [base for base in kind.__mro__ if base.__module__.partition(".")[0] not in ("builtins", "enum", "torch", "typing")]
    if callable(value) or any(OPERATORS & vars(base).keys() for base in own):
        raise NotTriton("'%s' cannot be an argument of a kernel" % getattr(value, "__qualname__", kind.__qualname__))


def check_arguments(executor, args, kwargs):
    """Of a launch: what is given, and defaults."""
    function = executor.fn
    for value in (*args, *(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
        check_argument(value)
    for name, value in kwargs.items():
        if name in executor.arg_names:
            check_argument(value)


def without_text(function):
    """Tensors of a kernel show what they are and not what they hold."""

    def patch(tensor, scope):
        function(tensor, scope)
        scope.set_attr(tensor, "__repr__", lambda self: "tensor of %s" % self.type)
        scope.set_attr(tensor, "__str__", lambda self: "tensor of %s" % self.type)

    return patch


def apply():
    interpreter.FunctionRewriter.rewrite_ast = rewrite_ast
    interpreter._patch_lang_tensor = without_text(interpreter._patch_lang_tensor)
