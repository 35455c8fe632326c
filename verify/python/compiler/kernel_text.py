# SPDX-License-Identifier: MIT
"""kernel.py as text: its functions are syntax trees, and no code object is ever made of them."""

import ast
import copy
import inspect
import types

import triton.runtime.jit as jit

from refusal import Refused, brief

MODULE = "kernel"
FILE = "kernel.py"


class KernelText:
    def __init__(self, source):
        try:
            self.tree = ast.parse(source.decode("utf-8-sig"))  # as bytes the text could name any codec
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise Refused("kernel.py does not parse: %s" % error) from None
        self.functions = {}  # line of the def statement: (node, qualified name)
        self.trees = {}  # line: the tree that the front end visits; its changes to the tree have no effect on another visit
        self.collect(self.tree, "")

    def collect(self, root, prefix):
        """Collect all functions, nested ones under the qualified names of Python. No recursion: deep texts must not exhaust the
        stack."""
        open_ = [(root, prefix)]
        while open_:
            node, prefix = open_.pop()
            for child in ast.iter_child_nodes(node):
                inner = prefix
                if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
                    if isinstance(child, ast.FunctionDef):
                        self.functions[child.lineno] = child, prefix + child.name
                    inner = "%s%s.<locals>." % (prefix, child.name)
                elif isinstance(child, ast.ClassDef):
                    inner = "%s%s." % (prefix, child.name)
                open_.append((child, inner))

    def definition(self, name, line):
        node, qualname = self.functions.get(line, (None, ""))
        if node is None or node.name != name:
            raise Refused("kernel.py has no function %s in line %d" % (brief(name), line))
        return node, qualname

    def visited(self, line):
        if line not in self.trees:
            self.trees[line] = stripped(self.functions[line][0])
        return self.trees[line]


def stripped(node):
    """The tree that the front end visits: the function without decorators, defaults and annotations, with line numbers as in a
    separate text."""
    node = copy.deepcopy(node)
    node.decorator_list, node.returns = [], None
    node.args.defaults, node.args.kw_defaults = [], [None] * len(node.args.kwonlyargs)
    for arg in parameters_of(node):
        arg.annotation = None
    ast.increment_lineno(node, 1 - node.lineno)
    indent = node.col_offset
    for part in ast.walk(node) if indent else ():
        if hasattr(part, "col_offset"):
            part.col_offset = max(part.col_offset - indent, 0)
            part.end_col_offset = max(part.end_col_offset - indent, 0)
    return ast.Module(body=[node], type_ignores=[])


def parameters_of(node):
    args = node.args
    return [*args.posonlyargs, *args.args, *filter(None, [args.vararg]), *args.kwonlyargs]


def signature_of(node, defaults):
    """The signature of a function with these defaults; a parameter without a claimed default has none."""
    kinds, args = inspect.Parameter, node.args
    if args.kwarg:
        raise Refused("the function %s has **%s" % (brief(node.name), brief(args.kwarg.arg)))
    with_default = {arg.arg for arg in (args.posonlyargs + args.args)[::-1][:len(args.defaults)]}
    with_default |= {arg.arg for arg, default in zip(args.kwonlyargs, args.kw_defaults) if default is not None}
    if not with_default.issuperset(defaults):
        raise Refused("a default is claimed for a parameter of %s that has none" % brief(node.name))
    rows = [(arg, kinds.POSITIONAL_ONLY) for arg in args.posonlyargs]
    rows += [(arg, kinds.POSITIONAL_OR_KEYWORD) for arg in args.args]
    rows += [(arg, kinds.VAR_POSITIONAL) for arg in (args.vararg,) if arg]
    rows += [(arg, kinds.KEYWORD_ONLY) for arg in args.kwonlyargs]
    try:
        return inspect.Signature([kinds(arg.arg, kind, default=defaults.get(arg.arg, kinds.empty)) for arg, kind in rows])
    except ValueError as error:
        raise Refused("the defaults of %s: %s" % (brief(node.name), error)) from None


class Shape:
    """Stands for the Python function, from which Triton 3.6 takes a signature and the name of a file."""

    def __init__(self, fn):
        self.__signature__, self.__name__, self.__qualname__ = fn.signature, fn.__name__, fn.__qualname__
        self.__code__ = types.SimpleNamespace(co_filename=FILE)
        self.__module__ = MODULE

    def __call__(self):
        raise Refused("Python code of the candidate is called")


class FromText(jit.JITFunction):
    """A jit function made of text. It has the attributes of Triton's that the front end reads."""

    def __init__(self, text, name, line):
        self.node, self.__qualname__ = text.definition(name, line)
        self.__name__, self.__module__, self.module = name, MODULE, MODULE
        self._fn_name = "%s.%s" % (MODULE, self.__qualname__)
        self.file_name, self.def_file_line_number = FILE, line
        self.def_file_col_number = self.node.col_offset + 1
        self.starting_line_number, self.raw_src = line, ["def "]
        self._src = "def %s(...):\n" % name
        self.hash, self.used_global_vals, self.debug = "", {}, None
        self.text, self.names, self.noinline, self.symbol = text, {}, None, None

    def complete(self, names, defaults, noinline, symbol):
        """Set the members that may refer to other functions; called after all functions were made."""
        self.names, self.noinline, self.symbol = names, noinline, symbol
        self.signature = signature_of(self.node, defaults)
        self.params = [jit.KernelParam(i, parameter, False, False)
                       for i, parameter in enumerate(self.signature.parameters.values())]
        self.arg_names = [parameter.name for parameter in self.params]
        self.constexprs = []
        self.fn = Shape(self)

    def parse(self):
        return self.text.visited(self.def_file_line_number)

    def get_capture_scope(self):
        return self.names

    def repr(self, _):
        return self.symbol or self._fn_name

    @property
    def cache_key(self):
        return self._fn_name

    def __hash__(self):
        return id(self)

    def __eq__(self, other):
        return self is other

    def __repr__(self):
        return "JITFunction(%s:%s)" % (MODULE, self.__qualname__)
