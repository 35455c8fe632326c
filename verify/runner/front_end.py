# SPDX-License-Identifier: MIT
"""Makes Triton's interpreter refuse what Triton's compiler refuses.

The interpreter runs the body of a kernel as Python. Python functions called there, objects with operators of their own and
the text of a tensor would all compute without Triton, in code that no GPU accepts. The rules are those of the compiler's
front end (triton/compiler/code_generator.py): which globals a kernel may use, what may be called with tensors, what may be
an argument, which statements there are, and that a value that is known only when the kernel runs never becomes a number of
Python. Nothing here believes what an object says of itself where the candidate can write it: attributes of kernels and names
of modules can be set by functools.wraps and through names that the static stage cannot follow.
"""

import ast
import builtins
import copy
import dis
import functools
import inspect
import linecache
import os
import sys
import types

import numpy as np
import torch
import triton
import triton.language as tl
import triton.runtime.autotuner as autotuner
import triton.runtime.interpreter as interpreter
import triton.runtime.jit as jit
import interpreter_fixes
from triton.compiler.code_generator import CodeGenerator
from triton.tools.tensor_descriptor import TensorDescriptor

# Python's builtins that the compiler knows; the first ones take tensors.
TAKE_TENSORS = (len, range, isinstance, getattr, hasattr, print, min, max)
KNOWN_BUILTINS = frozenset(function.__name__ for function in TAKE_TENSORS + (list, float, int))
PLAIN_TYPES = (torch.Tensor, bool, int, float, str, type(None), torch.dtype, tl.dtype)
KERNEL_TYPES = (interpreter.InterpretedFunction, autotuner.Autotuner, autotuner.Heuristics, jit.JITFunction,
                jit.ConstexprFunction)
HOME = os.path.dirname(triton.__file__) + os.sep
KERNEL_FILE = "/kgb/tmp/kernel.py"
RUNNING = []  # launches
TRUTHS = [0]  # how often a tensor was asked for its truth
KNOWN_TYPES, TRITON_TYPES = {object}, set()  # all that there were before a candidate was loaded
# Special methods of a class of the candidate's own that no kernel can call with a tensor.
HARMLESS = frozenset("__%s__" % name for name in (
    "init post_init new repr str hash getnewargs getstate setstate reduce reduce_ex replace dir format sizeof").split())
# What the code of kernels refers to besides its own names.
INJECTED = ("interpreter_semantic", "_InterpreterComparison", "_kgb_checked", "_kgb_owner", "_kgb_either",
            "_kgb_all", "_kgb_not", "_kgb_same", "_kgb_known")
# The compiler handles these where they stand, without a method of their own.
PARTS = (ast.Starred, ast.FormattedValue)


class NotTriton(Exception):
    """The compiler would refuse this kernel."""


def is_value(value):
    """A tensor of a kernel, or a tuple that holds one."""
    return isinstance(value, tl.core.base_value) or (
        isinstance(value, (tuple, list)) and any(is_value(part) for part in value))


def all_types(kind=object):
    for derived in type.__subclasses__(kind):
        yield derived
        yield from all_types(derived)


def is_triton(value):
    """Something that Triton itself offers, or a jit function."""
    while isinstance(value, functools.partial):
        value = value.func
    if type(value) in KERNEL_TYPES or value is kernel_range:
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
    kind = value if isinstance(value, type) else type(value)
    return kind in TRITON_TYPES or (issubclass(kind, tl.core.base_value) and getattr(kind, "__triton_aggregate__", False))


def is_namedtuple(value):
    return isinstance(value, type) and issubclass(value, tuple) and hasattr(value, "_fields") and not steers(value)


# ---- objects of the candidate's own classes ----

def runs_code(name, member):
    """Whether a class attribute of this name makes code of the candidate run without a call of it."""
    code = getattr(member, "__code__", None)
    generated = code is not None and code.co_filename != KERNEL_FILE
    return name.startswith("__") and name.endswith("__") and callable(member) and not generated and name not in HARMLESS


def steers(kind):
    """Whether operators or loops over such an object are code of the candidate's."""
    return any(runs_code(name, member) for base in kind.__mro__ if base not in KNOWN_TYPES
               for name, member in vars(base).items())


# ---- calls inside a kernel ----

def kernel_range(*args, **kwargs):
    """Counts with tensors, as compiled loops do."""
    step = args[2] if len(args) > 2 else kwargs.get("step")
    bounds = list(args[:2]) + ([] if step is None else [step])
    kind = tl.int64 if any(isinstance(bound, tl.core.tensor) and bound.dtype.primitive_bitwidth == 64
                           for bound in bounds) else tl.int32
    for i in range(*(number_of(bound) for bound in bounds)):
        dtype = kind if -2**31 <= i < 2**31 else tl.int64
        yield tl.core.tensor(interpreter.TensorHandle(np.array([i], dtype=np.int32 if dtype == tl.int32 else np.int64), dtype),
                             dtype)


def number_of(bound):
    if isinstance(bound, tl.constexpr):
        bound = bound.value
    return bound.handle.data.item() if isinstance(bound, tl.core.tensor) else bound


def extreme(function, replacement):
    def chosen(*args, **kwargs):
        return getattr(tl, replacement)(*args, **kwargs) if is_value(args) else function(*args, **kwargs)

    return chosen


REPLACED = {range: kernel_range, min: extreme(min, "minimum"), max: extreme(max, "maximum")}


def checked(function):
    """What a kernel is about to call, or an exception."""
    if isinstance(function, tl.constexpr):
        function = function.value
    if any(function is known for known in TAKE_TENSORS):
        return REPLACED.get(function, function)
    constant = isinstance(function, jit.BoundConstexprFunction) or (
        isinstance(function, jit.ConstexprFunction) and not is_triton(function.fn))
    if (is_triton(function) and not constant) or is_namedtuple(function) or (
            isinstance(function, types.BuiltinFunctionType) and function.__name__ == "append"):
        return function
    name = getattr(function, "__qualname__", type(function).__qualname__)
    if not constant and not isinstance(function, (types.BuiltinFunctionType, type)):
        raise NotTriton("a kernel cannot call the Python function '%s'; decorate it with @triton.jit" % name)

    def with_constants(*args, **kwargs):
        if is_value(args) or is_value(tuple(kwargs.values())):
            raise NotTriton("'%s' is Python's and takes no tensors; use triton.language" % name)
        return function(*args, **kwargs)

    return with_constants


def owner(value):
    """Of an attribute or element that a kernel sets."""
    if not isinstance(value, tl.core.base_value):
        raise NotTriton("a kernel changes an object of Python")
    return value


def as_value(result):
    """What has become of a tensor's truth is a tensor again, not a number of Python."""
    if isinstance(result, (tuple, list)) and not isinstance(result, tl.core.base_value):
        return type(result)(map(as_value, result)) if type(result) in (tuple, list) else result
    return interpreter.interpreter_semantic.to_tensor(result, False)


def either(test, yes, no):
    """`yes if test else no`, each given as a function."""
    chosen = yes() if test else no()
    return as_value(chosen) if is_value(test) else chosen


def all_or_any(ends_with, *parts):
    """`and` and `or` as code_generator._apply_boolean_values has them: what is known when it compiles may cut the rest off, all
    else is computed and combined element by element."""
    found, value = [], None
    for part in parts:
        value = part()
        if is_value(value):
            found.append(value)
        elif bool(value) == ends_with:
            return value
    if not found:
        return value
    result = found.pop()
    while found:
        first = found.pop()
        result = first.logical_or(result) if ends_with else first.logical_and(result)
    return result


def opposite(value):
    return value.__not__() if is_value(value) else not value


def known(test):
    """The condition of a comprehension."""
    if is_value(test):
        raise NotTriton("a tensor chooses the parts of a list")
    return test


def compared(result, *operands):
    if isinstance(result, bool) and any(isinstance(operand, (tuple, list)) and is_value(operand) for operand in operands):
        raise NotTriton("tuples of tensors are compared")
    return result


INJECTED_VALUES = (interpreter.interpreter_semantic, getattr(interpreter, "_InterpreterComparison", None), checked, owner,
                   either, all_or_any, opposite, compared, known)


def name(text):
    return ast.Name(id=text, ctx=ast.Load())


def parameters(*names):
    return ast.arguments(posonlyargs=[], args=[ast.arg(arg=text) for text in names], kwonlyargs=[], kw_defaults=[], defaults=[])


def call_of(function, node, *args):
    """A call that stands where the node did."""
    return ast.copy_location(ast.Call(func=function, args=list(args), keywords=[]), node)


def later(nodes):
    """Functions that compute these when they are asked."""
    return [ast.Lambda(args=parameters(), body=node) for node in nodes]


class CheckCalls(ast.NodeTransformer):
    def visit(self, node):
        if isinstance(node, (ast.stmt, ast.expr)) and not isinstance(node, PARTS) and \
                not hasattr(CodeGenerator, "visit_" + type(node).__name__):
            raise NotTriton("Triton knows no %s" % type(node).__name__)
        if getattr(node, "id", getattr(node, "arg", None)) in INJECTED:
            raise NotTriton("the name '%s' is the runner's" % getattr(node, "id", None))
        return super().visit(node)

    def visit_Call(self, node):
        self.generic_visit(node)
        node.func = call_of(name("_kgb_checked"), node.func, node.func)
        return node

    def visit_AugAssign(self, node):
        """As the compiler does; then its operator is one of tensors and its result becomes one."""
        self.generic_visit(node)
        if not isinstance(node.target, ast.Name):
            raise NotTriton("Triton changes only plain names in place")
        value = ast.BinOp(left=name(node.target.id), op=node.op, right=node.value)
        return ast.copy_location(ast.Assign(targets=[node.target], value=ast.copy_location(value, node)), node)

    def visit_NamedExpr(self, node):
        self.generic_visit(node)
        to_tensor = ast.Attribute(value=name("interpreter_semantic"), attr="to_tensor", ctx=ast.Load())
        node.value = call_of(to_tensor, node, node.value, ast.Constant(value=False))
        return node

    def visit_IfExp(self, node):
        self.generic_visit(node)
        return call_of(name("_kgb_either"), node, node.test, *later([node.body, node.orelse]))

    def visit_BoolOp(self, node):
        self.generic_visit(node)
        return call_of(name("_kgb_all"), node, ast.Constant(value=isinstance(node.op, ast.Or)), *later(node.values))

    def visit_UnaryOp(self, node):
        self.generic_visit(node)
        if not isinstance(node.op, ast.Not):
            return node
        return call_of(name("_kgb_not"), node, node.operand)

    def visit_Compare(self, node):
        self.generic_visit(node)
        if any(isinstance(op, (ast.In, ast.NotIn)) for op in node.ops):
            raise NotTriton("Triton knows no 'in'")
        pair = ast.Tuple(elts=[node.left, node.comparators[0]], ctx=ast.Load())
        if len(node.ops) > 1 or not any(isinstance(part, (ast.Tuple, ast.List)) for part in pair.elts):
            return node
        return call_of(name("_kgb_same"), node, node, *pair.elts)

    def visit_comprehension(self, node):
        self.generic_visit(node)
        node.ifs = [call_of(name("_kgb_known"), test, test) for test in node.ifs]
        return node

    def visit_Attribute(self, node):
        self.generic_visit(node)
        if isinstance(node.ctx, ast.Store):
            node.value = call_of(name("_kgb_owner"), node.value, node.value)
        return node

    visit_Subscript = visit_Attribute


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


def rewritten(fn):
    """In place of FunctionRewriter's own, which takes the last line that starts with "def ", be it in a docstring, and
    leaves all that the interpreter has imported among the candidate's globals. What the code needs of the runner comes as
    parameters of a function around it, which nobody can change."""
    node = definition_of(fn)
    if node is None:
        raise NotTriton("the source of '%s' cannot be found" % fn.__name__)
    check_globals(fn)
    node.decorator_list = []
    checks = CheckCalls()
    checks.visit(node.args)
    node.body = [checks.visit(statement) for statement in node.body]
    node = interpreter.FunctionRewriter.ast_transformer.visit(node)
    around = ast.FunctionDef(
        name="_kgb_around", decorator_list=[], type_params=[], body=[node, ast.Return(value=name(node.name))],
        args=parameters(*INJECTED))
    tree = ast.copy_location(around, node)
    code = compile(ast.fix_missing_locations(ast.Module(body=[tree], type_ignores=[])), fn.__code__.co_filename, "exec",
                   dont_inherit=True)
    namespace = {}
    exec(code, fn.__globals__, namespace)
    function = namespace["_kgb_around"](*INJECTED_VALUES)
    function.__qualname__ = fn.__qualname__
    return function


REWRITTEN = {}
CODES = set()


def codes_of(code):
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from codes_of(constant)


def rewrite(self):
    """A kernel's code, whatever has been written to its attributes."""
    if self.fn not in REWRITTEN:
        REWRITTEN[self.fn] = rewritten(self.fn)
        CODES.update(codes_of(REWRITTEN[self.fn].__code__))
    return REWRITTEN[self.fn]


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
            if isinstance(value, tl.constexpr):
                check_argument(value)
            continue
        raise NotTriton("the kernel '%s' uses the global variable '%s'; write %s = tl.constexpr(...)" % (
            fn.__name__, name, name))


def check_argument(value):
    kind = type(value)
    if kind is tl.constexpr:
        return check_argument(value.value)
    if kind is jit.TensorWrapper or kind is TensorDescriptor:
        if type(value.base) not in (torch.Tensor, jit.TensorWrapper):
            raise NotTriton("'%s' cannot be the tensor of a kernel" % type(value.base).__qualname__)
        return check_argument(value.base)
    if kind in PLAIN_TYPES or (is_triton(value) and not isinstance(value, (tuple, list))):
        return None
    if callable(value) or steers(kind):
        raise NotTriton("'%s' cannot be an argument of a kernel" % getattr(value, "__qualname__", kind.__qualname__))
    if isinstance(value, (tuple, list)):
        for part in value:
            check_argument(part)
    return None


def check_arguments(executor, args, kwargs):
    """Of a launch: what is given, and defaults."""
    function = executor.fn
    for value in (*args, *(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
        check_argument(value)
    for name, value in kwargs.items():
        if name in executor.arg_names:
            check_argument(value)


def fixed_grid(executor, args, kwargs):
    """A grid's function gets what the launch is given, as on a GPU, and not the tensors of a running kernel."""
    if callable(executor.grid):
        known = {name: value for name, value in kwargs.items() if name in executor.arg_names}
        executor.grid = executor.grid(inspect.getcallargs(executor.fn, *args, **known))


def only_in_launches(function):
    """What a kernel calls without a launch replaces the language's functions for the host, for good."""

    def call(self, *args, **kwargs):
        if not RUNNING:
            raise NotTriton("the kernel '%s' is called without a grid" % self.fn.__name__)
        before = TRUTHS[0]
        result = function(self, *args, **kwargs)
        return result if TRUTHS[0] == before else as_value(result)

    return call


def index(self):
    raise NotTriton("a tensor is no number of Python")


def only_for_kernels(truth):
    """Conditions are a kernel's; Python code of the candidate's would learn the value by them, bit by bit."""

    def is_true(self):
        code = sys._getframe(1).f_code
        if code.co_filename == KERNEL_FILE and code not in CODES:
            raise NotTriton("a tensor decides what Python code does")
        TRUTHS[0] += 1
        return truth(self)

    return is_true


def without_text(function):
    """Tensors of a kernel show what they are and not what they hold."""

    def patch(tensor, scope):
        function(tensor, scope)
        scope.set_attr(tensor, "__repr__", lambda self: "tensor of %s" % self.type)
        scope.set_attr(tensor, "__str__", lambda self: "tensor of %s" % self.type)
        scope.set_attr(tensor, "__index__", index)
        scope.set_attr(tensor, "__bool__", only_for_kernels(tensor.__bool__))

    return patch


def with_range(function):
    """static_range counts with numbers, range with tensors."""

    def patch(lang, scope):
        function(lang, scope)
        scope.set_attr(lang, "range", kernel_range)

    return patch


def with_checks(function):
    """Reductions and scans element by element: the function that combines two is a kernel's like any other."""

    def generic(self, input):
        given = self.combine_fn
        if type(given) is not interpreter.InterpretedFunction:
            raise NotTriton("a reduction needs a function with @triton.jit")
        interpreter._patch_lang(given.fn)
        self.combine_fn = types.SimpleNamespace(fn=given.rewrite())
        try:
            return function(self, input)
        finally:
            self.combine_fn = given

    return generic


def apply():
    KNOWN_TYPES.update(all_types())
    TRITON_TYPES.update(kind for kind in KNOWN_TYPES if kind.__module__.partition(".")[0] == "triton")
    interpreter.InterpretedFunction.rewrite = rewrite
    interpreter.InterpretedFunction.__call__ = only_in_launches(interpreter.InterpretedFunction.__call__)
    interpreter.ReduceOps.generic_reduce = with_checks(interpreter.ReduceOps.generic_reduce)
    interpreter.ScanOps.generic_scan = with_checks(interpreter.ScanOps.generic_scan)
    interpreter._patch_lang_tensor = without_text(interpreter._patch_lang_tensor)
    interpreter._patch_lang_core = with_range(interpreter._patch_lang_core)
