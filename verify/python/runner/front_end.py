# SPDX-License-Identifier: MIT
"""Makes Triton's interpreter run only the part of a kernel that Triton's compiler has compiled (compiled.py).

The interpreter runs the body of a kernel as Python. Here it gets a body of only the statements and expressions that the
compiler has visited, with the global names that the compiler has looked up, and with tensors, numbers, text and types as
arguments, never objects of the candidate. Where the two still differ, this module makes the interpreter follow the compiler:
conditions with tensors, loops, allowed calls; and a value that only exists when the kernel runs never becomes a number of
Python. This module does not trust attributes that the candidate can write: attributes of kernels and names of modules can be
set by functools.wraps and through names that the static stage cannot follow.
"""

import ast
import builtins
import copy
import inspect
import types

import numpy as np
import triton.language as tl
import triton.runtime.interpreter as interpreter
import triton.runtime.jit as jit

import compiled
import host_code
import values
from host_code import RUNNING, NotTriton, definition_of
from values import is_namedtuple, is_triton, plain

# Python's builtins that the compiler accepts; the first ones take tensors.
TAKE_TENSORS = (len, range, isinstance, getattr, hasattr, print, min, max)
BUILTINS = {function.__name__: function for function in TAKE_TENSORS + (list, float, int)}
TRUTHS = [0]  # number of times that a tensor's truth was read
# Names that the code of kernels refers to besides its own.
INJECTED = ("_kgb_unseen", "interpreter_semantic", "_InterpreterComparison", "_kgb_checked", "_kgb_either", "_kgb_all",
            "_kgb_not", "_kgb_known")
# The compiler handles these in place, without a visit method.
PARTS = (ast.Starred, ast.FormattedValue)


def is_value(value):
    """A tensor of a kernel, or a tuple that holds one."""
    return isinstance(value, tl.core.base_value) or (
        isinstance(value, (tuple, list)) and any(is_value(part) for part in value))


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


def public(function):
    """getattr and hasattr, which would distinguish an interpreted kernel from a compiled one."""

    def asked(value, attribute, *default):
        check_attribute(attribute)
        return function(value, attribute, *default)

    return asked


REPLACED = {range: kernel_range, min: extreme(min, "minimum"), max: extreme(max, "maximum"), getattr: public(getattr),
            hasattr: public(hasattr)}


def checked(function):
    """The function that a kernel is about to call, or an exception."""
    if isinstance(function, tl.constexpr):
        function = function.value
    if any(function is known for known in TAKE_TENSORS):
        return REPLACED.get(function, function)
    if function is kernel_range or is_triton(function) or function in values.OWN_TUPLES:
        return function
    name = getattr(function, "__qualname__", type(function).__qualname__)
    if type(function) is not jit.ConstexprFunction and not isinstance(function, (types.BuiltinFunctionType, type)):
        raise NotTriton("a kernel cannot call the Python function '%s'; decorate it with @triton.jit" % name)

    def with_constants(*args, **kwargs):
        if is_value(args) or is_value(tuple(kwargs.values())):
            raise NotTriton("'%s' is Python's and takes no tensors; use triton.language" % name)
        return function(*args, **kwargs) if function in (int, float, list) else compiled.computed(function, args, kwargs)

    return with_constants


def as_value(result):
    """Turns a tensor's truth back into a tensor, so that it is no number of Python."""
    if isinstance(result, (tuple, list)) and not isinstance(result, tl.core.base_value):
        return type(result)(map(as_value, result)) if type(result) in (tuple, list) else result
    return interpreter.interpreter_semantic.to_tensor(result, False)


def either(test, yes, no):
    """`yes if test else no`, each given as a function."""
    chosen = yes() if test else no()
    return as_value(chosen) if is_value(test) else chosen


def all_or_any(ends_with, *parts):
    """`and` and `or` as in code_generator._apply_boolean_values: a value known at compile time may cut the rest off, all others
    are computed and combined element by element."""
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


def unseen(line):
    raise NotTriton("line %d of the kernel is not what the compiler has compiled" % line)


INJECTED_VALUES = (unseen, interpreter.interpreter_semantic, getattr(interpreter, "_InterpreterComparison", None), checked,
                   either, all_or_any, opposite, known)


def name(text):
    return ast.Name(id=text, ctx=ast.Load())


def parameters(*names):
    return ast.arguments(posonlyargs=[], args=[ast.arg(arg=text) for text in names], kwonlyargs=[], kw_defaults=[], defaults=[])


def call_of(function, node, *args):
    """A call in place of the node."""
    return ast.copy_location(ast.Call(func=function, args=list(args), keywords=[]), node)


def later(nodes):
    """Functions that compute these nodes when they are called."""
    return [ast.Lambda(args=parameters(), body=node) for node in nodes]


class AsCompiled(ast.NodeTransformer):
    """Nodes that the interpreter and the compiler would treat differently."""

    def visit_Call(self, node):
        if getattr(node.func, "id", None) == "_kgb_unseen":
            return node
        self.generic_visit(node)
        node.func = call_of(name("_kgb_checked"), node.func, node.func)
        return node

    def visit_AugAssign(self, node):
        """Converts as the compiler does; then the operator is one of tensors and the result becomes a tensor."""
        self.generic_visit(node)
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

    def visit_comprehension(self, node):
        self.generic_visit(node)
        node.ifs = [call_of(name("_kgb_known"), test, test) for test in node.ifs]
        return node


# ---- the code of a kernel ----

def check_attribute(text):
    """A tensor's handle leads to NumPy, and what begins so to Python."""
    if text == "handle" or text.startswith("__"):
        raise NotTriton("a kernel may not use the attribute '%s'" % text)


def check_names(node):
    for part in (part for root in (node.args, *node.body) for part in ast.walk(root)):
        if isinstance(part, ast.Attribute):
            check_attribute(part.attr)
        elif getattr(part, "id", getattr(part, "arg", None)) in INJECTED:
            raise NotTriton("a name is the runner's")


class OnlyCompiled(ast.NodeTransformer):
    """Keeps only the parts of a function that the compiler has visited. It does not visit calls behind `in` and `with` as a
    whole, nor the message of tl.static_assert at all."""

    def __init__(self, visited):
        self.visited = visited

    def visit(self, node):
        if not isinstance(node, (ast.stmt, ast.expr)) or isinstance(node, PARTS) or self.is_seen(node):
            return super().visit(node)
        if isinstance(getattr(node, "ctx", None), ast.Store):
            return self.target(node)
        call = call_of(name("_kgb_unseen"), node, ast.Constant(value=node.lineno))
        return ast.copy_location(ast.Expr(value=call), node) if isinstance(node, ast.stmt) else call

    def target(self, node):
        for part in ast.walk(node):
            if isinstance(part, ast.expr) and not isinstance(part, (ast.Name, ast.Tuple)):
                raise NotTriton("a kernel changes an object of Python")
        return node

    def is_seen(self, node):
        return node.kgb in self.visited

    def visit_Call(self, node):
        node.args = [arg if isinstance(arg, PARTS) or self.is_seen(arg) else ast.Constant(value="") for arg in node.args]
        return self.parts_of(node)

    def parts_of(self, call):
        call.func = self.visit(call.func)
        call.args = [self.visit(arg) if hasattr(arg, "kgb") else arg for arg in call.args]
        call.keywords = [self.visit(keyword) for keyword in call.keywords]
        return call

    def visit_For(self, node):
        node.iter = self.parts_of(node.iter)
        node.body = [self.visit(statement) for statement in node.body]
        return node

    def visit_withitem(self, node):
        node.context_expr = self.parts_of(node.context_expr)
        return node

    def visit_JoinedStr(self, node):
        node.values = [value if isinstance(value, ast.Constant) else self.visit(value) for value in node.values]
        return node


def code_of(fn, signature, node, names):
    """The function that the interpreter runs. The runner's objects come as parameters of a function around it, which no code
    can change; all other names are in `names`."""
    for arguments in (node.args.posonlyargs, node.args.args, node.args.kwonlyargs):
        for argument in arguments:
            argument.annotation = None
    node.args.defaults = [ast.Constant(value=None) for _ in node.args.defaults]
    node.args.kw_defaults = [default and ast.Constant(value=None) for default in node.args.kw_defaults]
    node.decorator_list, node.returns = [], None
    checks = AsCompiled()
    node.body = [checks.visit(statement) for statement in node.body]
    node = interpreter.FunctionRewriter.ast_transformer.visit(node)
    around = ast.FunctionDef(
        name="_kgb_around", decorator_list=[], type_params=[], body=[node, ast.Return(value=name(node.name))],
        args=parameters(*INJECTED))
    tree = ast.copy_location(around, node)
    code = compile(ast.fix_missing_locations(ast.Module(body=[tree], type_ignores=[])), fn.__code__.co_filename, "exec",
                   dont_inherit=True)
    namespace = {}
    exec(code, names, namespace)
    function = namespace["_kgb_around"](*INJECTED_VALUES)
    function.__qualname__ = fn.__qualname__
    given = [parameter for parameter in signature.parameters.values() if parameter.default is not parameter.empty]
    function.__defaults__ = tuple(parameter.default for parameter in given if parameter.kind != parameter.KEYWORD_ONLY)
    function.__kwdefaults__ = {parameter.name: parameter.default for parameter in given
                               if parameter.kind == parameter.KEYWORD_ONLY}
    function.__annotations__ = {parameter.name: parameter.annotation for parameter in signature.parameters.values()
                                if parameter.annotation is not parameter.empty}
    return function


REWRITTEN = {}


def of_library(fn):
    if fn not in REWRITTEN:
        REWRITTEN[fn] = code_of(fn, inspect.signature(fn), copy.deepcopy(definition_of(fn)), fn.__globals__)
    return REWRITTEN[fn]


def of_candidate(fn, result):
    visited = result and result.visited.get(fn)
    if not visited:
        raise NotTriton("'%s' is not what the compiler has compiled" % fn.__name__)
    names = {name: value for (user, name), value in result.names.items() if user is fn}
    key = fn, frozenset(visited), tuple((name, id(value)) for name, value in names.items())
    if key not in REWRITTEN:
        node, checks = copy.deepcopy(definition_of(fn)), OnlyCompiled(visited)
        check_names(node)
        node.body = [checks.visit(statement) for statement in node.body]
        names = {name: values.own_tuple(value) if is_namedtuple(value) else value for name, value in names.items()}
        # where the interpreter searches for the language, and replaces it until the launch ends
        names.update(__builtins__=BUILTINS, _kgb_language=tl, _kgb_core=tl.core)
        REWRITTEN[key] = code_of(fn, compiled.FRONTS[fn].own_signature, node, names)
    return REWRITTEN[key]


def rewrite(self):
    """In place of the interpreter's own, which takes the last line that starts with "def ", even in a docstring, and leaves all
    names that the interpreter has imported among the candidate's globals."""
    fn = self.fn
    return of_library(fn) if compiled.is_library(fn) else of_candidate(fn, compiled.Result.running)


# ---- globals, arguments, text ----

def check_found(value):
    """The value that the compiler has read from a global variable or an attribute of a module."""
    if not (isinstance(value, (types.ModuleType, types.BuiltinFunctionType)) or is_namedtuple(value) or
            type(value) is jit.ConstexprFunction or any(value is known for known in BUILTINS.values()) or
            values.is_exact(value)):
        raise NotTriton("a kernel uses '%s'" % type(value).__qualname__)


def run(self, *args, grid, warmup, **kwargs):
    """A launch. Its Python parts come first, as on a GPU."""
    if warmup:
        return
    if RUNNING:
        raise NotTriton("a kernel launches a kernel")
    front = compiled.front_of(self)
    for hook in self.pre_run_hooks:
        hook(*args, **kwargs)
    if callable(grid):
        grid = grid(front.bound(args, kwargs))
    bound = {name: plain(value) for name, value in front.bound(args, kwargs).items()}
    options = {name: value for name, value in kwargs.items() if name not in front.arg_names}
    result = compiled.compiled(front, bound, options)
    for value in (*result.names.values(), *result.attributes.values()):
        check_found(value)
    compiled.Result.running = result
    try:
        executor = interpreter.GridExecutor(self.rewrite(), front.arg_names, grid)
        executor.constexprs = [param.name for param in front.params if param.is_constexpr]
        executor(**bound, **options)
    finally:
        compiled.Result.running = None


def only_by_run(function):
    """An executor that the host makes of any other object is no kernel."""

    def call(self, *args, **kwargs):
        if compiled.Result.running is None:
            raise NotTriton("a kernel is launched by kernel[grid](...)")
        return function(self, *args, **kwargs)

    return call


def only_in_launches(function):
    """A call of a kernel without a launch would replace the language's functions for the host, permanently."""

    def call(self, *args, **kwargs):
        if not RUNNING:
            raise NotTriton("the kernel '%s' is called without a grid" % self.fn.__name__)
        before = TRUTHS[0]
        result = function(self, *args, **kwargs)
        return result if TRUTHS[0] == before else as_value(result)

    return call


def index(self):
    raise NotTriton("a tensor is no number of Python")


def counted(truth):
    def is_true(self):
        TRUTHS[0] += 1
        return truth(self)

    return is_true


def without_text(function):
    """Tensors of a kernel print their type, not their contents."""

    def patch(tensor, scope):
        function(tensor, scope)
        scope.set_attr(tensor, "__repr__", lambda self: "tensor of %s" % self.type)
        scope.set_attr(tensor, "__str__", lambda self: "tensor of %s" % self.type)
        scope.set_attr(tensor, "__index__", index)
        scope.set_attr(tensor, "__bool__", counted(tensor.__bool__))

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
        self.combine_fn = types.SimpleNamespace(fn=given.rewrite())
        try:
            return function(self, input)
        finally:
            self.combine_fn = given

    return generic


def apply():
    host_code.apply()
    values.prepare()
    interpreter.InterpretedFunction.rewrite = rewrite
    interpreter.InterpretedFunction.run = run
    interpreter.GridExecutor.__call__ = only_by_run(interpreter.GridExecutor.__call__)
    interpreter.InterpreterBuilder.create_print = lambda *_: None  # the host could read it
    interpreter.InterpretedFunction.__call__ = only_in_launches(interpreter.InterpretedFunction.__call__)
    interpreter.ReduceOps.generic_reduce = with_checks(interpreter.ReduceOps.generic_reduce)
    interpreter.ScanOps.generic_scan = with_checks(interpreter.ScanOps.generic_scan)
    interpreter._patch_lang_tensor = without_text(interpreter._patch_lang_tensor)
    interpreter._patch_lang_core = with_range(interpreter._patch_lang_core)
