# SPDX-License-Identifier: MIT
"""Compiles the kernels that Triton's interpreter runs here.

The compiler's front end, which turns the source of a kernel into Triton's intermediate form and needs no GPU, compiles every
kernel that is launched, once for each list of argument types and constants. A kernel that it refuses is refused. The
interpreter then runs an accepted kernel from the same tree: only the statements and expressions that the compiler has visited,
with the values of the global names that it has looked up, and with the results of the functions for constants that it has
called. So a kernel cannot show the compiler one thing and do another when it is interpreted.
"""

import ast
import inspect
import sys
import types

import triton
import triton.compiler.code_generator as code_generator
import triton.language as tl
import triton.language.extra.cuda.libdevice as cuda_libdevice
import triton.runtime.interpreter as interpreter
import triton.runtime.jit as jit
from triton._C.libtriton import ir
from triton.backends.compiler import BaseBackend, GPUTarget
from triton.compiler.compiler import ASTSource, make_backend
from triton.compiler.errors import CompilationError

from host_code import NotTriton, Source, definition_of
from values import is_attribute, is_namedtuple, own_tuple, plain

TARGET = GPUTarget("cuda", 90, 32)
LIBRARY = {}  # functions of Triton's own that are written in Triton: function -> JITFunction
FRONTS = {}  # the candidate's
MEMBERS = {}  # wrappers that are methods of tensors -> JITFunction
KNOWN = {}  # specializations that are compiled already


# ---- functions ----

class Known(jit.JITFunction):
    """A function for the compiler. It equals only itself as a key, and its source does not change."""

    @property
    def cache_key(self):
        return self._fn_name

    def __hash__(self):
        return id(self)

    def __eq__(self, other):
        return self is other

    def __repr__(self):
        return self._fn_name

    def parse(self):
        return self.tree

    def get_capture_scope(self):
        return self.__globals__


class Library(Known):
    """One of Triton's own."""

    def __init__(self, made):
        super().__init__(made.fn)
        self.signature = with_defaults(self.signature, mapped)
        self.tree = ast.parse(self._src)


class Front(Known):
    """One of the candidate's."""

    def __init__(self, made):
        fn = self.fn = made.fn
        self.node = definition_of(fn)
        if self.node is None:
            raise NotTriton("the source of '%s' cannot be found" % fn.__name__)
        if not fn.__dict__.keys().isdisjoint(("__wrapped__", "__signature__")):
            raise NotTriton("'%s' says that it is another function" % fn.__name__)
        given = made.kwargs
        self.tree = ast.Module(body=[self.node], type_ignores=[])
        self._src = Source.of(fn.__code__.co_filename).text
        self.own_signature = with_defaults(inspect.signature(fn), plain)
        self.signature = with_defaults(self.own_signature, mapped)
        self.file_name, self.def_file_line_number, self.def_file_col_number = fn.__code__.co_filename, 1, 1
        self.__name__ = fn.__name__
        self.__module__ = self.module = "kernel"
        self.__qualname__ = self._fn_name = "%s_%d" % (fn.__name__, len(FRONTS))  # two functions may have one name
        self.__globals__ = fn.__globals__
        self.hash, self.used_global_vals = "", {}
        self.debug, self.noinline, self._repr = given.get("debug"), given.get("noinline"), None
        unspecialized, unaligned = (given.get(name) or [] for name in ("do_not_specialize", "do_not_specialize_on_alignment"))
        self.params = [jit.KernelParam(i, param, i in unspecialized or param.name in unspecialized,
                                       i in unaligned or param.name in unaligned)
                       for i, param in enumerate(self.signature.parameters.values())]
        self.arg_names = [param.name for param in self.params]

    def bound(self, args, kwargs):
        """The arguments of a launch by name, with defaults."""
        found = self.own_signature.bind(*args, **{name: kwargs[name] for name in kwargs if name in self.arg_names})
        found.apply_defaults()
        return found.arguments


def is_library(fn):
    return fn in LIBRARY


def front_of(made):
    """The compiler's counterpart of one of the interpreter's functions."""
    if type(made) is not interpreter.InterpretedFunction or type(made.fn) is not types.FunctionType:
        raise NotTriton("'%s' is no function with @triton.jit" % type(made).__qualname__)
    found = LIBRARY.get(made.fn) or FRONTS.get(made.fn)
    if found is None:
        found = FRONTS[made.fn] = Front(made)
    return found


def mapped(value):
    """The compiler's form of a value."""
    if isinstance(value, interpreter.InterpretedFunction):
        return front_of(value)
    if is_namedtuple(value):
        return own_tuple(value)
    if type(value) is tl.constexpr and isinstance(value.value, (interpreter.InterpretedFunction, tuple)):
        return tl.constexpr(mapped(value.value))
    if isinstance(value, tuple):
        parts = map(mapped, value)
        return own_tuple(type(value))(*parts) if is_namedtuple(type(value)) else tuple(parts)
    return value


def with_defaults(signature, function):
    return signature.replace(parameters=[
        parameter if parameter.default is parameter.empty else parameter.replace(default=function(parameter.default))
        for parameter in signature.parameters.values()])


# ---- the compiler, watched ----

class Result:
    """The compiler's findings in one specialization."""

    current = None  # of the code that is compiled
    running = None

    def __init__(self):
        self.visited = {}  # of each function of the candidate's: numbers of nodes
        self.names = {}  # (function, name): value
        self.attributes = {}  # (module or type of numbers, name): value
        self.constants = {}  # (function for constants, arguments): result

    def check(self):
        """Checks that no value that the compiler looked up has changed."""
        for (fn, name), value in self.names.items():
            if not is_same(variable(fn, name), value):
                raise NotTriton("the variable '%s' has changed since the kernel '%s' was compiled" % (name, fn.__name__))
        for (module, name), value in self.attributes.items():
            if not is_same(getattr(module, name, None), value):
                raise NotTriton("%s.%s has changed since a kernel was compiled that uses it" % (
                    getattr(module, "__name__", module), name))


def variable(fn, name, default=None):
    """Of a function around this one, or of its module."""
    if name in fn.__code__.co_freevars:
        return fn.__closure__[fn.__code__.co_freevars.index(name)].cell_contents
    return fn.__globals__.get(name, default)


def is_same(one, other):
    if one is other:
        return True
    if type(one) is tl.constexpr is type(other):
        return is_same(one.value, other.value)
    return type(one) is type(other) and type(one) in (bool, int, float, str, tl.dtype, types.MethodType) and one == other


class Names(dict):
    """The variables around a function as the compiler reads them; each read is recorded."""

    def __init__(self, fn, module_map):
        super().__init__()
        self.fn, self.module_map = fn, module_map

    def get(self, name, default=None):
        value = variable(self.fn, name, self)
        if value is self:
            return default
        if not is_library(self.fn):
            Result.current.names[self.fn, name] = value
        if isinstance(value, types.ModuleType):
            return self.module_map.get(value.__name__, value)
        if getattr(value, "__module__", "") in self.module_map and callable(value):
            return getattr(self.module_map[value.__module__], value.__name__)
        return mapped(value)

    def __getitem__(self, name):
        return self.get(name)

    def __contains__(self, name):
        return name in self.fn.__code__.co_freevars or name in self.fn.__globals__


class Generator(code_generator.CodeGenerator):
    def __init__(self, context, prototype, gscope, *args, **kwargs):
        super().__init__(context, prototype, {}, *args, **kwargs)
        self.gscope = Names(self.jit_fn.fn, self.builder.module_map)
        self.visited = Result.current.visited.setdefault(self.jit_fn.fn, set())

    def visit(self, node):
        number = getattr(node, "kgb", None)
        if number is not None:
            self.visited.add(number)
        return super().visit(node)

    def get_Attribute(self, lhs, attr):
        value = super().get_Attribute(lhs, attr)
        if isinstance(lhs, types.ModuleType):
            if not is_library(self.jit_fn.fn):
                Result.current.attributes[lhs, attr] = value
            return mapped(value)
        if not is_library(self.jit_fn.fn) and not is_attribute(value):
            raise NotTriton("'%s' is no attribute for a kernel" % attr)
        if type(lhs) is tl.dtype:
            Result.current.attributes[lhs, attr] = value
        method = MEMBERS.get(getattr(value, "__func__", None))
        return value if method is None else code_generator.BoundJITMethod(lhs, method)

    def call_Function(self, node, fn, args, kws):
        result = super().call_Function(node, fn, args, kws)
        if isinstance(fn, (jit.ConstexprFunction, types.BuiltinFunctionType, type)):
            Result.current.constants[constant_key(fn, args, kws)] = getattr(result, "value", result)
        return result


def known(value):
    return value.value if isinstance(value, tl.constexpr) else value


def constant_key(fn, args, kwargs):
    """The arguments of a call that the compiler computes, type by type."""
    values = [known(value) for value in args] + [part for name in sorted(kwargs) for part in (name, known(kwargs[name]))]
    return fn, tuple((type(value), repr(mapped(value))) for value in values)


def computed(fn, args, kwargs):
    """The result of a function of constants at the time of compilation."""
    key = constant_key(fn, args, kwargs)
    if key not in Result.running.constants:
        raise NotTriton("'%s' is called with something else than when the kernel was compiled" % (fn,))
    return Result.running.constants[key]


# ---- the types of a launch ----

def type_of(param, value):
    """As jit.create_function_from_signature, but without what depends on a value: alignment, and a number that is 1."""
    if param.is_constexpr:
        return "constexpr"
    if param.annotation_type:
        return param.annotation_type
    return type_of_value(value, param.is_const)


def type_of_value(value, is_const=False):
    if isinstance(value, jit.JITCallable):
        return "constexpr"
    if isinstance(value, tuple):
        parts = [type_of_value(part) for part in value]
        return type(value)(*parts) if is_namedtuple(type(value)) else tuple(parts)
    return jit.native_specialize_impl(BaseBackend, value, is_const, False, False)[0]


def with_ones(params, types_, values):
    """The types with a constant for each number that is 1, as the compiler has them first."""
    return {param.name: "constexpr" if kind in ("i32", "i64", "u64") and type(values[param.name]) is int and
            values[param.name] == 1 and not param.do_not_specialize else kind
            for param, kind in zip(params, types_.values())}


def options_of(front, kwargs):
    backend = make_backend(TARGET)
    options = backend.parse_options({"debug": front.debug or False, **kwargs})
    for name in kwargs:
        if name not in options.__dict__ and name not in front.arg_names:
            raise KeyError("Keyword argument %s was specified but unrecognised" % name)
    return backend, options


def generate(front, types_, values, backend, options):
    ordered = list(values.values())
    paths = jit.find_paths_if(list(types_.values()), lambda _, kind: kind == "constexpr")
    constants = {path: jit.get_iterable_path(ordered, path) for path in paths}
    source = ASTSource(front, types_, constants, {})
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    result = Result()
    Result.current = result
    settings = triton.knobs.runtime.__dict__
    settings["interpret"] = False
    try:
        source.make_ir(TARGET, options, backend.get_codegen_implementation(options), MODULES, context)
    finally:
        settings.pop("interpret")
    return result


def of_candidate(error):
    """The compiler's innermost error, placed at the innermost line of the candidate."""
    place = innermost = error
    while isinstance(innermost.__cause__, CompilationError):
        innermost = innermost.__cause__
        if hasattr(innermost.node, "kgb"):
            place = innermost
    return CompilationError(place.src, place.node, innermost.error_message)


def raise_at(error, filename):
    """Raises the error with a traceback that ends at its line, as if that line had raised it."""
    line = getattr(error.node, "lineno", 1)
    exec(compile("\n" * (line - 1) + "raise error", filename, "exec"), {"error": error})


def specialized(front, types_, values, backend, options):
    try:
        return generate(front, types_, values, backend, options)
    except CompilationError:
        ones = with_ones(front.params, types_, values)
        if ones == types_:
            raise
        return generate(front, ones, values, backend, options)


def compiled(front, bound, given):
    """The Result for a launch with these arguments and options; raises what the compiler raises."""
    values = {name: mapped(value) for name, value in bound.items()}
    types_ = {param.name: type_of(param, values[param.name]) for param in front.params}
    ordered = list(values.values())
    constants = [(path, jit.get_iterable_path(ordered, path))
                 for path in jit.find_paths_if(list(types_.values()), lambda _, kind: kind == "constexpr")]
    key = (front, str(list(types_.values())), str([(path, type(value), value) for path, value in constants]), str(given))
    if key not in KNOWN:
        failure = None
        try:
            KNOWN[key] = specialized(front, types_, values, *options_of(front, given))
        except CompilationError as error:
            failure = of_candidate(error)
        if failure:
            raise_at(failure, front.file_name)
    KNOWN[key].check()
    return KNOWN[key]


# ---- before a candidate ----

MODULES = {}


def prepare():
    """Called before any other code changes triton.language."""
    code_generator.CodeGenerator = Generator
    original = types.ModuleType(cuda_libdevice.__name__)
    original.__dict__.update(vars(cuda_libdevice))
    MODULES.update({"triton.language.extra.libdevice": original, cuda_libdevice.__name__: original})
    for name, module in list(sys.modules.items()):
        if name.startswith("triton.language"):
            for value in list(vars(module).values()):
                if isinstance(value, interpreter.InterpretedFunction) and value.fn not in LIBRARY:
                    LIBRARY[value.fn] = None
                    LIBRARY[value.fn] = Library(value)
    for member in vars(tl.tensor).values():
        for cell in getattr(member, "__closure__", None) or ():
            if isinstance(cell.cell_contents, interpreter.InterpretedFunction):
                MEMBERS[member] = LIBRARY[cell.cell_contents.fn]
