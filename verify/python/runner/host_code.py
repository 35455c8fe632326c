# SPDX-License-Identifier: MIT
"""The candidate's module on the CPU platform: its source as loaded, and its Python code, none of which may run during a kernel.

Triton's interpreter runs the body of a kernel as Python. Code outside the kernel would compute there without Triton: a function
of the candidate that an operator, a loop or another call leads to. So each function, lambda and generator of kernel.py is
compiled with a first step that checks whether a kernel runs. That step is a constant of the code, not a name that a candidate
could set.
"""

import ast
import importlib.machinery
import importlib.util
import linecache
import types
import warnings

MODULE = "kernel"
STEP = "kgb: does a kernel run?"
RUNNING = []  # launches


class NotTriton(Exception):
    """The compiler would refuse this kernel."""


class Source:
    """A file as it was when it was loaded."""

    files = {}

    def __init__(self, filename, text):
        self.text = text
        self.functions = {}
        for number, node in enumerate(ast.walk(ast.parse(text, filename))):
            node.kgb = number  # which copies of a node keep
            if isinstance(node, ast.FunctionDef):
                line = min([node.lineno] + [decorator.lineno for decorator in node.decorator_list])
                self.functions[node.name, line] = node

    @classmethod
    def of(cls, filename):
        if filename not in cls.files:
            cls.files[filename] = cls(filename, "".join(linecache.getlines(filename)))
        return cls.files[filename]


def definition_of(fn):
    """The def statement of a function, found by the place of its code, not by the text of its lines nor by the function's
    __name__; None when there is none."""
    return Source.of(fn.__code__.co_filename).functions.get((fn.__code__.co_name, fn.__code__.co_firstlineno))


def step():
    if RUNNING:
        raise NotTriton("Python code runs inside the kernel '%s': whatever a kernel calls needs @triton.jit" % RUNNING[-1])


class Steps(ast.NodeTransformer):
    def step_at(self, node):
        call = ast.Call(func=ast.Constant(value=STEP), args=[], keywords=[])
        return ast.fix_missing_locations(ast.copy_location(call, node))

    def both(self, node, first, second, chosen):
        pair = ast.Subscript(value=ast.Tuple(elts=[first, second], ctx=ast.Load()), slice=ast.Constant(value=chosen),
                             ctx=ast.Load())
        return ast.fix_missing_locations(ast.copy_location(pair, node))

    def visit_FunctionDef(self, node):
        self.generic_visit(node)
        documented = ast.get_docstring(node, clean=False) is not None
        at = node.body[-1 if documented and len(node.body) == 1 else int(documented)]
        node.body.insert(int(documented), ast.copy_location(ast.Expr(value=self.step_at(at)), at))
        return node

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Lambda(self, node):
        self.generic_visit(node)
        node.body = self.both(node.body, self.step_at(node.body), node.body, 1)
        return node

    def visit_GeneratorExp(self, node):
        self.generic_visit(node)
        node.elt = self.both(node.elt, self.step_at(node.elt), node.elt, 1)
        return node

    def visit_Yield(self, node):
        self.generic_visit(node)
        return self.both(node, node, self.step_at(node), 0)

    visit_YieldFrom = visit_Await = visit_Yield


def with_step(code):
    """The code with the function itself where its name stands."""
    def replaced(constant):
        if isinstance(constant, types.CodeType):
            return with_step(constant)
        return step if type(constant) is str and constant == STEP else constant

    return code.replace(co_consts=tuple(map(replaced, code.co_consts)))


def guarded(function):
    def source_to_code(self, data, path, **options):
        if self.name != MODULE:
            return function(self, data, path, **options)
        Source.files[path] = Source(path, importlib.util.decode_source(data))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a string is called
            return with_step(compile(Steps().visit(ast.parse(data, path)), path, "exec", dont_inherit=True))

    return source_to_code


def apply():
    loader = importlib.machinery.SourceFileLoader
    loader.source_to_code = guarded(loader.source_to_code)
