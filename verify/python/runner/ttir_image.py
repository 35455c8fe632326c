# SPDX-License-Identifier: MIT
"""Images of kernels: the claims and the text of Triton's IR (docs/record-format.md). On the CPU a launch names an image; on a GPU
the runner requests machine code for it.

The judge makes the IR from the text of kernel.py and the claims, the values that Triton's front end looks up outside of the text,
and accepts no other IR. Mostly these values can be found by the text: then, on the CPU, only the judge makes the IR. Else, and if
the judge refuses, the front end makes the IR here, and this module notes the values that it looks up. So a mistake here can only
refuse a kernel.
"""

import ast
import collections
import contextlib
import json
import math
import os
import sys
import threading
import types

import triton
import triton.compiler.code_generator as code_generator
import triton.language as tl
import triton.runtime.jit as jit
from triton._C.libtriton import ir
from triton._utils import is_namedtuple
from triton.backends.compiler import GPUTarget
from triton.compiler.compiler import ASTSource, make_backend

TARGET = GPUTarget("cuda", 90, 32)  # on a GPU, its own (deferred.py)
MODULE = "kernel"
FILE = "kernel.py"
HOME = os.path.dirname(triton.__file__) + os.sep
OPTIONS = ("num_warps", "num_stages", "num_ctas", "maxnreg", "debug", "sanitize_overflow", "enable_fp_fusion",
           "launch_cooperative_grid", "launch_pdl", "default_dot_input_precision")
CLAIMS_MAX = 256 << 10
# Modules that the judge has, too. The claim of any other module is the values of its attributes.
SHARED = ("triton", "math")


class Unclaimed(Exception):
    """A value that no claim can express. The judge refuses the kernel if it needs the value."""


def is_library(fn):
    return fn.__code__.co_filename.startswith(HOME)


def python_of(fn):
    return fn if isinstance(fn, types.FunctionType) else fn.fn


def is_shared(module):
    return module.__name__ in SHARED or (module.__name__ + ".").startswith("triton.language.")


def line_of(fn):
    """The line of the def statement, as the front end finds it."""
    for offset, line in enumerate(fn.raw_src):
        if line.strip().startswith("def "):
            return fn.starting_line_number + offset
    return fn.starting_line_number


# ---- values that the front end has looked up ----

class Notes:
    """The values that the front end looked up for one module of IR."""

    def __init__(self):
        self.names = {}  # of each function, by its id: {name: value}
        self.attributes = {}  # of each module that the judge does not have: {name: value}
        self.answers = {}  # of each constexpr function, by its id: [(arguments, keywords, result)]

    def names_of(self, fn):
        return self.names.get(id(fn), {})

    def attributes_of(self, module):
        return self.attributes.get(module, {})

    def answers_of(self, fn):
        return self.answers.get(id(fn), ())


class Current(threading.local):
    notes = None  # of the module that this thread is making


CURRENT = Current()


@contextlib.contextmanager
def noting():
    """A context in which the values that the front end looks up are noted. One inside of another has the same notes."""
    before, CURRENT.notes = CURRENT.notes, CURRENT.notes or Notes()
    try:
        yield CURRENT.notes
    finally:
        CURRENT.notes = before


class Names(dict):
    """A function's scope; notes what is found in it."""

    def __init__(self, scope, original, noted):
        super().__init__(scope)
        self.original, self.noted = original, noted

    def note(self, name):
        if dict.__contains__(self, name):
            self.noted[name] = self.original[name]

    def get(self, name, default=None):
        self.note(name)
        return dict.get(self, name, default)

    def __getitem__(self, name):
        self.note(name)
        return dict.__getitem__(self, name)

    def __contains__(self, name):
        self.note(name)
        return dict.__contains__(self, name)


def is_answering(fn):
    """Whether the front end calls fn as Python code of the candidate: a constexpr_function, or a function in a tl.constexpr."""
    return type(fn) in (jit.ConstexprFunction, types.FunctionType) and not is_library(python_of(fn))


class Watched(code_generator.CodeGenerator):
    def __init__(self, context, prototype, gscope, *args, **kwargs):
        super().__init__(context, prototype, gscope, *args, **kwargs)
        if CURRENT.notes and not is_library(self.jit_fn.fn):
            self.gscope = Names(self.gscope, gscope, CURRENT.notes.names.setdefault(id(self.jit_fn), {}))

    def get_Attribute(self, lhs, attr):
        value = super().get_Attribute(lhs, attr)
        if CURRENT.notes and isinstance(lhs, types.ModuleType) and not is_shared(lhs):
            CURRENT.notes.attributes.setdefault(lhs, {})[attr] = value
        return value

    def call_Function(self, node, fn, args, kws):
        given = list(args)
        result = super().call_Function(node, fn, args, kws)
        if CURRENT.notes and is_answering(fn):
            CURRENT.notes.answers.setdefault(id(fn), []).append((given, dict(kws), result))
        return result


# ---- values that the front end will look up ----

CHAINS = {}  # of each text of a function: names, each with the attributes that follow it


def chain_of(node):
    """The name and the attributes of a.b.c; None for anything else."""
    attributes = []
    while isinstance(node, ast.Attribute):
        attributes.append(node.attr)
        node = node.value
    return (node.id, *reversed(attributes)) if isinstance(node, ast.Name) else None


def chains_of(fn):
    if fn.src not in CHAINS:
        nodes = (node for part in fn.parse().body[0].body for node in ast.walk(part))
        CHAINS[fn.src] = sorted(set(filter(None, map(chain_of, nodes))))
    return CHAINS[fn.src]


class Foreseen(Notes):
    """All values that the front end can look up, found by the text, and some more. A value that it does not look up has no effect
    on the IR."""

    def names_of(self, fn):
        scope, found = fn.get_capture_scope(), {}
        for name, *attributes in chains_of(fn):
            if name in scope:
                found[name] = scope[name]
                self.follow(scope[name], attributes)
        return found

    def follow(self, value, attributes):
        for attribute in attributes:
            if not isinstance(value, types.ModuleType) or is_shared(value) or not hasattr(value, attribute):
                return
            module, value = value, getattr(value, attribute)
            self.attributes.setdefault(module, {})[attribute] = value

    def answers_of(self, fn):
        raise Unclaimed("results of %s" % fn.__name__)


def symbol_of(fn, signature, constants):
    """The name of the kernel in the IR."""
    named = {fn.arg_names[path[0]]: value for path, value in constants.items() if len(path) == 1}
    name = fn.repr(collections.namedtuple("SpecializationProxy", ["constants", "signature"])(named, signature))
    return name[name.rfind(".") + 1:]


# ---- values as claims ----

class Claims:
    def __init__(self, kernel, notes):
        self.notes = notes
        self.functions = [kernel]
        self.places = {id(kernel): 0}

    def place(self, fn):
        if id(fn) not in self.places:
            self.places[id(fn)] = len(self.functions)
            self.functions.append(fn)
        return self.places[id(fn)]

    def library(self, value):
        module, name = getattr(value, "__module__", None), getattr(value, "__name__", None)
        found = sys.modules.get(module) if type(module) is str else None
        if found is None or not is_shared(found) or type(name) is not str or getattr(found, name, None) is not value:
            raise Unclaimed(type(value).__qualname__)
        return {"library": [module, name]}

    def module(self, module):
        if is_shared(module):
            return {"module": module.__name__}
        return {"module": module.__name__, "values": self.those(self.notes.attributes_of(module))}

    def those(self, values):
        """The claims of those values that have one."""
        found = {}
        for name, value in values.items():
            try:
                found[name] = self.value(value)
            except Unclaimed:
                pass
        return found

    def number(self, value):
        return value if type(value) is not float or math.isfinite(value) else {"float": repr(value)}

    def value(self, value):
        kind = type(value)
        if value is None or kind in (bool, int, float, str):
            return self.number(value)
        if kind is tuple or isinstance(value, tl.tuple):
            return [self.value(part) for part in value]
        if kind is list:
            return {"list": [self.value(part) for part in value]}
        if kind is tl.constexpr:
            return {"constexpr": self.value(value.value)}
        if kind is tl.dtype:
            return {"dtype": value.name}
        if kind is tl.pointer_type:
            return {"pointer": [self.value(value.element_ty), value.address_space, value.const]}
        if kind.__module__ == "torch" and kind.__name__ == "dtype":
            return {"torch": str(value).partition(".")[2]}
        if isinstance(value, types.ModuleType):
            return self.module(value)
        if isinstance(value, int):
            return int(value)  # of an IntEnum
        return self.object(value, kind)

    def object(self, value, kind):
        if is_namedtuple(kind):
            return {"namedtuple": [kind.__name__, list(kind._fields), [self.value(part) for part in value]]}
        if is_namedtuple(value):
            return {"namedtuple_class": [value.__name__, list(value._fields), self.those(value._field_defaults)]}
        while isinstance(value, jit.KernelInterface) and not isinstance(value, jit.JITFunction):
            value = value.fn  # of an autotuner
        if is_answering(value) or isinstance(value, jit.JITCallable) and not is_library(value.fn):
            return {"function": self.place(value)}
        return self.library(value)

    def answers(self, fn):
        found = {}
        for args, kwargs, result in self.notes.answers_of(fn):
            try:
                row = [[self.value(unwrapped(arg)) for arg in args],
                       {name: self.value(unwrapped(arg)) for name, arg in kwargs.items()}, self.value(unwrapped(result))]
            except Unclaimed:
                continue
            found[json.dumps(row)] = row
        return list(found.values())

    def function(self, fn, symbol):
        code = python_of(fn).__code__
        claim = {"name": code.co_name, "line": code.co_firstlineno if is_answering(fn) else line_of(fn)}
        if is_answering(fn):
            return {**claim, "answers": self.answers(fn)}
        claim["names"] = self.those(self.notes.names_of(fn))
        if symbol:
            if symbol != claim["name"]:
                claim["symbol"] = symbol
        else:
            claim["defaults"] = self.those({parameter.name: parameter.default for parameter in fn.signature.parameters.values()
                                            if parameter.default is not parameter.empty})
        if fn.noinline:
            claim["noinline"] = True
        return claim

    def all_functions(self, symbol):
        """The claims of all functions. The claim of a function may name further functions, which are then added."""
        made = []
        while len(made) < len(self.functions):
            made.append(self.function(self.functions[len(made)], None if made else symbol))
        return made


def unwrapped(value):
    return value.value if isinstance(value, tl.constexpr) else value


def type_claim(kind):
    if isinstance(kind, str):
        return kind
    parts = [type_claim(part) for part in kind]
    return {"tuple": [type(kind).__name__, list(kind._fields), parts]} if is_namedtuple(type(kind)) else parts


def options_of(options, target):
    """The options that are not Triton's defaults."""
    if options.launch_pdl:
        raise ValueError("launch_pdl starts a kernel before the one in front of it has ended, and no kernel may wait: leave it out")
    usual = make_backend(target).parse_options({})
    return {name: getattr(options, name) for name in OPTIONS
            if hasattr(usual, name) and getattr(options, name) != getattr(usual, name)}


def claims_of(source, target, options, notes, symbol):
    claims = Claims(source.fn, notes)
    line = {
        "kgb_ttir": 1,
        "types": [[name, type_claim(kind)] for name, kind in source.signature.items()],
        "constants": [[list(path), claims.value(value)] for path, value in source.constants.items()],
        "attrs": [[list(path), value] for path, value in source.attrs.items() if value],
        "options": options_of(options, target),
    }
    line["functions"] = claims.all_functions(symbol)
    return line


# ---- images ----

def encoded(claims):
    return json.dumps(claims, separators=(",", ":")).encode()


def image_of(source, target, options, notes, module):
    """The image of the module that the front end made from an ASTSource. Raises Unclaimed."""
    line = encoded(claims_of(source, target, options, notes, module.get_entry_func_name()))
    return b"%s\n%s" % (line, str(module).encode())


def asked(line, make_ir):
    """(IR, facts) of these claims, or None."""
    return make_ir(line) if len(line) <= CLAIMS_MAX else None


def made_by_judge(fn, signature, constants, attrs, options, make_ir):
    """(image, symbol, IR, facts), or None."""
    try:
        source = ASTSource(fn, signature, constants, attrs)
        line = encoded(claims_of(source, TARGET, options, Foreseen(), symbol_of(fn, signature, constants)))
    except Exception:  # the candidate's objects may raise anything
        return None
    found = asked(line, make_ir)
    return found and (b"%s\n%s" % (line, found[0]), found[1]["name"], found[0].decode(), found[1])


def made_here(fn, signature, constants, attrs, options, make_ir=lambda line: None):
    backend = make_backend(TARGET)
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    source = ASTSource(fn, signature, constants, attrs)
    with noting() as notes:
        module = source.make_ir(TARGET, options, backend.get_codegen_implementation(options), backend.get_module_map(), context)
    image = image_of(source, TARGET, options, notes, module)
    found = asked(image.partition(b"\n")[0], make_ir)
    return image, module.get_entry_func_name(), module, found[1] if found else {}


def make(fn, signature, constants, attrs, options, make_ir=lambda line: None):
    """(image, symbol, module or its text, facts) of a launch. `fn` is a JITFunction; the next four arguments are the results of
    its _pack_args. `make_ir` requests from the judge (IR, facts) for a line of claims; it returns None if the judge refuses, and
    there are no facts then. Raises the compiler's exceptions, and Unclaimed."""
    return (made_by_judge(fn, signature, constants, attrs, options, make_ir)
            or made_here(fn, signature, constants, attrs, options, make_ir))


def full_name(fn):
    """The name that the front end gives to a function that a kernel calls."""
    return "%s.%s" % (fn.__module__ if is_library(python_of(fn)) else MODULE, fn.__qualname__)


def prepare():
    """Called once, before a candidate is loaded."""
    code_generator.CodeGenerator = Watched
    init = jit.JITFunction.__init__

    def with_file(self, fn, *args, **kwargs):
        init(self, fn, *args, **kwargs)
        if not is_library(fn):
            self.file_name = FILE

    jit.JITFunction.__init__ = with_file
    code_generator.get_full_name = full_name
    if hasattr(code_generator, "get_jit_fn_file_line"):  # Triton 3.6
        place = code_generator.get_jit_fn_file_line
        code_generator.get_jit_fn_file_line = lambda fn: (place(fn)[0] if is_library(fn.fn) else FILE, place(fn)[1])
