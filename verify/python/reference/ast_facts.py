#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Facts about a kernel.py, for the judge's static stages.

    python -I ast_facts.py < kernel.py > facts.json

The source is parsed with CPython's own grammar and is never executed, imported or compiled to code. The output is one
JSON document (schema "kgb.ast_facts/1") with plain facts. verify/static/scan.c decides by verify/policy/l1.yaml whether
a fact is allowed. Comments do not reach the syntax tree, and docstrings and other strings are never judged.

Document:

    schema, python, bytes, nodes
    error        null, or {"kind": "encoding" | "syntax" | "limit", "line": N, "message": "..."}; then the rest is empty
    bindings     one per module-level name: {name, line, kind: function|class|import|value, params, settled, jit, is_async,
                 is_generator, decorators, alias_of, refs}. refs: other module-level names that its code mentions. settled: false
                 if the name is bound more than once and the last binding may not be the function described here
    module_refs  module-level names that the module's own statements mention (they run at import)
    kernels      every @triton.jit function: {name (qualified), line, owner (module-level name)}
    facts        [{kind, name, line, ctx, use, on, owner, fn}], in source order. Those of code that runs at import and binds names of
                 the module, or passes something to them, have these names in `into`
    numbers      numbers of the text, for drawn cases: [{value (its text), is_border}] (ast_numbers.py)

Kinds of facts, and the meaning of `name`:

    import       module ("torch.nn"); use: import | from | unused | star | relative. unused: the name that it binds has no other
                 binding, and is mentioned only below the main guard
    name         fully resolved dotted name behind imports and aliases ("torch.sum"); use: load | call | alias |
                 import | unused | base | decorator | store | del | store_item
    undefined    plain name that nothing binds and that is no builtin; use as above
    builtin      Python builtin that nothing shadows ("eval"); use as above
    dunder       a plain name like __builtins__; use: load | store | call | del
    attribute    attribute of something that is not a module ("matmul"); use: load | call | store | del. No fact for
                 x.data_ptr() % 16 and other small powers of two, which only examine an alignment
    dynamic      getattr/setattr/delattr/hasattr with a name that is not written in the source, vars(x), functools.wraps with
                 arguments that name the attributes to copy, importlib.import_module with a name that is not written in the source;
                 name: the function
    operator     arithmetic on the host: "@" always, others only if an operand is certainly a tensor, or is a parameter; `on`
                 has the kind of the operand
    tensor_store assignment to elements of a known tensor or parameter
    class        class statement or three-argument type(); on: comma-separated resolved bases
    def          function or method whose name is a dunder
    launch       kernel[grid](...) ; name: the jit function
    jit_attr     attribute of a jit function ("run", "fn")
    jit_call     jit function called without a grid by host code
    kernel_call  host function called from inside a jit body; name: the function
    kernel_syntax statement that Triton cannot compile, inside a jit body
    global, nonlocal, try, state, string   for information only

ctx: host | kernel (body of a jit function) | annotation. Statements under `if __name__ == "__main__":` never run in a
judged process and yield no facts. on: the kind of the object, if it is certain: tensor | param:NAME | self | instance |
class | function | jit | info (finfo, iinfo) | literal | type (of a tensor or
parameter) | module:DOTTED, else unknown. owner: the module-level name to whose
code the fact belongs, "" for statements that run at import. fn: qualified name of the function around it.
"""

import ast
import json
import os
import re
import sys
import warnings

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))  # isolated mode omits the script's directory
from ast_numbers import numbers  # noqa: E402
from ast_scopes import (BUILTINS, JIT_PATHS, MAX_NAME, Binder, Limit, Resolver, Mentions,  # noqa: E402
                        FUNCTIONS, is_dunder, is_main_guard)

MAX_BYTES = 256 << 10
MAX_NODES = 60_000
MAX_FACTS = 20_000
MAX_INTO = 64  # names that one statement of the module changes
CONSTEXPR_PATHS = frozenset(["triton.constexpr_function", "triton.language.constexpr_function",
                             "triton.runtime.jit.constexpr_function"])
ATTRIBUTE_BUILTINS = {"getattr": "load", "setattr": "store", "delattr": "del", "hasattr": "has"}
SURE_KINDS = {"function": "function", "jit": "jit", "launcher": "jit", "info": "info", "literal": "literal", "type": "type"}
STR_HINTS = ("import ", "exec(", "eval(", "lambda ", "def ", "torch.")
OWN_OPERATOR = re.compile(r"torch\.ops\.(?!(?:aten|prims?)\b)\w+")
NAMESPACES = frozenset(["globals", "vars", "locals"])
INERT_DECORATORS = frozenset(("path", "builtins." + name) for name in ("staticmethod", "classmethod", "property"))
FUNCTION = frozenset(["torch.autograd.Function", "torch.autograd.function.Function"])
GRADIENTS = frozenset(["backward", "jvp", "vmap"])
# Base classes that run no code of a derived class before its first use.
INERT_BASES = FUNCTION | {"torch.nn.Module", "torch.nn.modules.module.Module"}
BINOPS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
          ast.MatMult: "@", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>"}
ANNOTATION_NODES = (ast.Name, ast.Attribute, ast.Subscript, ast.Constant, ast.Tuple, ast.List, ast.BinOp, ast.BitOr,
                    ast.Load, ast.UnaryOp, ast.USub)


class Emitter:
    """The second pass: collects facts."""

    def __init__(self, tree, binder, resolver, future_annotations):
        self.mentioned = mentions(tree)
        self.loose_init = Mentions(tree, binder, resolver).mark()
        self.binder = binder
        self.resolver = resolver
        self.future_annotations = future_annotations
        self.facts = {}
        self.refs = {}  # owner -> set of module-level names
        self.by_table = {}  # owner -> "operators" (of torch.ops) or "all" (globals()): names that it may find in such a table
        self.decorated = []  # (name that the decorator begins with, decorated module-level function)
        self.ctx = "host"
        self.use = "load"
        self.owner = ""
        self.into = ()  # names of the module that the statement at import binds or changes
        self.muted = 0
        self.fn = ""
        self.has_gradient = False  # the class around a method derives from torch.autograd.Function

    # -- helpers

    def emit(self, kind, name, node, use="", on=""):
        if self.muted:
            return
        if kind == "builtin" and name in NAMESPACES:
            self.by_table[self.owner] = "all"
        line = getattr(node, "lineno", 0)
        key = (line, getattr(node, "col_offset", 0), kind, name[:MAX_NAME], use, on, self.ctx, self.owner)
        if key not in self.facts:
            if len(self.facts) >= MAX_FACTS:
                raise Limit("more than %d facts" % MAX_FACTS)
            self.facts[key] = {"kind": kind, "name": name[:MAX_NAME], "line": line, "ctx": self.ctx, "use": use,
                               "on": on, "owner": self.owner, "fn": self.fn}
            if self.into and not self.owner:
                self.facts[key]["into"] = list(self.into)

    def fill_registries(self):
        """A table that a decorator of this file mentions may hold the decorated functions: REGISTRY, for @register("add")."""
        for decorator, function in self.decorated:
            for table in self.refs.get(decorator, ()):
                if table != function:
                    self.refs.setdefault(table, set()).add(function)

    def follow_tables(self):
        """torch.ops.mine.add refers to all names that the module's statements mention when they register operators at import;
        globals() refers to all names of the module."""
        registered = set(self.refs.get("", ()))
        for owner, table in self.by_table.items():
            self.refs.setdefault(owner, set()).update(registered if table == "operators" else self.binder.module.names)

    def refer(self, name):
        if not self.muted:
            self.refs.setdefault(self.owner, set()).add(name)

    def expr(self, node, scope, use="load"):
        """Visit an expression; `use` names the use of its value."""
        if node is None:
            return
        method = getattr(self, "on_" + type(node).__name__, None)
        if method is None:
            self.children(node, scope)
            return
        saved, self.use = self.use, use
        method(node, scope)
        self.use = saved

    def children(self, node, scope):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.stmt):
                self.statement(child, scope)
            elif isinstance(child, ast.expr):
                self.expr(child, scope)
            else:
                self.statement(child, scope)

    def block(self, statements, scope):
        for statement in statements:
            self.statement(statement, scope)

    def statement(self, node, scope):
        method = getattr(self, "on_" + type(node).__name__, None)
        saved = self.into
        if scope.kind == "module" and isinstance(node, ast.stmt):
            self.into = self.changed_names(node)
        if method is not None:
            method(node, scope)
        else:
            self.children(node, scope)
        self.into = saved

    def changed_names(self, statement):
        """Names of the module that a statement of the module binds. For an expression, the names that it mentions, whose values it
        may change; not imports, which it only uses."""
        if isinstance(statement, (*FUNCTIONS, ast.ClassDef)):
            return (statement.name,)
        names = {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)
                 and (isinstance(statement, ast.Expr) or not isinstance(node.ctx, ast.Load))}
        names |= {node.value.id for node in ast.walk(statement) if isinstance(node, (ast.Subscript, ast.Attribute))
                  and isinstance(node.ctx, ast.Store) and isinstance(node.value, ast.Name)}
        names |= {node.name for node in ast.walk(statement) if isinstance(node, (*FUNCTIONS, ast.ClassDef))}
        return tuple(sorted(name for name in names
                            if any(value[0] != "path" for value in self.binder.module.names.get(name, ()))))[:MAX_INTO]

    def touch_base(self, node, scope):
        """Record the reference to the root name of a dotted chain without another fact."""
        while isinstance(node, ast.Attribute):
            node = node.value
        if isinstance(node, ast.Name):
            _, home = self.resolver.lookup(node.id, scope)
            if home is self.binder.module:
                self.refer(node.id)
            if is_dunder(node.id):
                self.emit("dunder", node.id, node, "load")

    def path_fact(self, path, node, use):
        root, _, name = path.partition(".")
        if OWN_OPERATOR.match(path) and not self.muted:
            self.by_table.setdefault(self.owner, "operators")
        if root == "builtins" and name:
            self.emit("builtin", name, node, use)
        else:
            self.emit("name", path, node, use)

    def describe(self, values, attr=None):
        """The `on` of a fact: the certain kind of an object. An object of a class of the candidate has its kind only for
        attributes that the class has, and self only if no method can be called with a tensor as self. A function's attributes are
        unknown: functools.wraps can copy those of any object to it."""
        kinds = {value[0] for value in values}
        params = sorted({value[2] for value in values if value[0] == "param"})
        if kinds == {"tensor"}:
            return "tensor"
        if kinds and kinds <= {"param", "tensor"}:
            if len(params) == 1:
                return "param:" + params[0]
            return "tensor" if "tensor" in kinds else "unknown"
        known = {self.sure_kind(value, attr) for value in values}
        return known.pop() if len(known) == 1 else "unknown"

    def sure_kind(self, value, attr):
        kind = value[0]
        if kind in ("self", "ctx", "instance", "class"):
            if attr is not None and attr not in value[1].names and attr not in value[1].attributes:
                return "unknown"
            if kind in ("self", "ctx") and not self.is_own(value):
                return "unknown"
            return "self" if kind == "ctx" else kind
        if kind == "function" and attr is not None:
            return "unknown"
        return SURE_KINDS.get(kind, "unknown")

    def is_own(self, value):
        """Whether a method's first parameter is certainly an object of its class, or the context of autograd for a static
        method."""
        kind, scope = value
        if kind == "ctx":
            bases = {base for node in scope.node.bases for base in self.resolver.value(node, scope.parent)}
            return bases == {("path", "torch.autograd.Function")} and not scope.loose and not scope.made
        if self.fn in (scope.qualname + ".__init__", scope.qualname + ".__post_init__"):
            return not self.loose_init
        return not scope.loose

    @staticmethod
    def jit_of(values):
        return [v[1] for v in values if v[0] in ("jit", "launcher") or (v[0] == "function" and v[1].jit)]

    # -- expressions

    def on_Name(self, node, scope):
        use = self.use
        values, home = self.resolver.lookup(node.id, scope)
        if home is self.binder.module:
            self.refer(node.id)
        if is_dunder(node.id):
            self.emit("dunder", node.id, node, use)
        if home is None:
            if node.id in BUILTINS:
                self.emit("builtin", node.id, node, use)
            elif not is_dunder(node.id):
                self.emit("undefined", node.id, node, use)
            return
        for value in sorted(values, key=repr_value):
            if value[0] == "path":
                self.path_fact(value[1], node, use)

    def on_Attribute(self, node, scope):
        use = self.use
        values = self.resolver.value(node.value, scope)
        paths = sorted(v[1] for v in values if v[0] == "path")
        others = {v for v in values if v[0] != "path"}
        for path in paths:
            self.path_fact(path + "." + node.attr, node, use)
        if is_dunder(node.attr) and paths:
            self.emit("attribute", node.attr, node, use, "module:" + paths[0])
        if others or not values:
            jits = self.jit_of(others)
            if jits:
                self.emit("jit_attr", node.attr, node, use, jits[0].qualname)
            self.emit("attribute", node.attr, node, use, self.describe(others, None if use == "store" else node.attr))
        chain = node.value
        while isinstance(chain, ast.Attribute):
            chain = chain.value
        if paths and isinstance(chain, ast.Name):
            self.touch_base(node.value, scope)
        else:
            self.expr(node.value, scope)

    def on_Subscript(self, node, scope):
        use = self.use
        # X[i] = v changes X; a read of X[i] reads X
        self.expr(node.value, scope, "store_item" if use in ("store", "del") else "load")
        self.expr(node.slice, scope)
        if use == "store":
            on = self.describe(self.resolver.value(node.value, scope))
            if on == "tensor" or on.startswith("param:"):
                self.emit("tensor_store", "[]", node, use, on)

    def on_Call(self, node, scope):
        function = node.func
        values = self.resolver.value(function, scope)
        builtin = [v[1].partition(".")[2] for v in values if v[0] == "path" and v[1].startswith("builtins.")]
        if ("path", "functools.wraps") in values and (len(node.args) > 1 or any(k.arg != "wrapped" for k in node.keywords)
                                                      or any(isinstance(a, ast.Starred) for a in node.args)):
            self.emit("dynamic", "functools.wraps", node, "call", "unknown")
        if ("path", "importlib.import_module") in values and node.args and self.resolver.strings(node.args[0], scope) is None:
            self.emit("dynamic", "importlib.import_module", node, "call", "unknown")
        self.expr(function, scope, "call")
        self.special_call(node, scope, builtin)
        if isinstance(function, ast.Subscript) or any(v[0] == "launcher" for v in values):
            for jit in self.jit_of(values):
                self.emit("launch", jit.qualname, node, "call")
        elif self.ctx == "host" and not self.is_plain_later(function, scope):
            for jit in self.jit_of(values):
                self.emit("jit_call", jit.qualname, node, "call")
        if self.ctx == "kernel":
            for value in sorted(values, key=repr_value):
                if value[0] == "function" and not value[1].jit and not value[1].constexpr:
                    self.emit("kernel_call", value[1].qualname, node, "call")
        # getattr(torch, "float16") is judged as torch.float16, and a computed name as `dynamic`; the module is not passed on
        quiet = any(name in ATTRIBUTE_BUILTINS for name in builtin) and len(node.args) >= 2
        for i, argument in enumerate(node.args):
            self.expr(argument, scope, "alias" if quiet and i == 0 else "load")
        for keyword in node.keywords:
            self.expr(keyword.value, scope)

    def is_plain_later(self, node, scope):
        """Whether the name is bound to a kernel first and to a plain function at the end of the import, and is used later."""
        if not isinstance(node, ast.Name) or not self.fn or self.resolver.lookup(node.id, scope)[1] is not self.binder.module:
            return False
        function = self.binder.settled(node.id)
        return function is not None and not function.jit

    def special_call(self, node, scope, names):
        for name in names:
            if name in ATTRIBUTE_BUILTINS and len(node.args) >= 2:
                self.attribute_call(node, scope, name)
            elif name == "vars" and len(node.args) == 1:
                self.dynamic("vars", node, self.resolver.value(node.args[0], scope))
            elif name == "type" and len(node.args) == 3:
                self.emit("class", "type()", node, "", self.bases(
                    node.args[1].elts if isinstance(node.args[1], (ast.Tuple, ast.List)) else [node.args[1]], scope))

    def attribute_call(self, node, scope, builtin):
        names = self.resolver.strings(node.args[1], scope)
        values = self.resolver.value(node.args[0], scope)
        paths = sorted(v[1] for v in values if v[0] == "path")
        if names is None:
            self.dynamic(builtin, node, values)
            return
        use = ATTRIBUTE_BUILTINS[builtin]
        for attr in sorted(names):
            for path in paths:
                self.path_fact(path + "." + attr, node, use)
            if not paths or is_dunder(attr):
                self.emit("attribute", attr, node, use, self.describe(values, attr))

    def dynamic(self, name, node, values):
        paths = sorted(v[1] for v in values if v[0] == "path")
        for on in ["module:" + path for path in paths] or [self.describe(values)]:
            self.emit("dynamic", name, node, "call", on)

    def operator(self, symbol, operands, node, scope):
        if self.ctx != "host":
            return
        found = [self.describe(self.resolver.value(operand, scope)) for operand in operands]
        known = [on for on in found if on == "tensor" or on.startswith("param:")]
        if symbol == "@":
            self.emit("operator", "@", node, "", known[0] if known else "unknown")
            return
        for on in known:
            self.emit("operator", symbol, node, "", on)

    def on_BinOp(self, node, scope):
        self.operator(BINOPS[type(node.op)], (node.left, node.right), node, scope)
        if is_alignment(node):
            self.expr(node.left.func.value, scope)
            return
        self.expr(node.left, scope)
        self.expr(node.right, scope)

    def on_UnaryOp(self, node, scope):
        if isinstance(node.op, (ast.USub, ast.Invert)):
            self.operator("-" if isinstance(node.op, ast.USub) else "~", (node.operand,), node, scope)
        self.expr(node.operand, scope)

    def on_Constant(self, node, scope):
        if isinstance(node.value, str) and any(hint in node.value for hint in STR_HINTS):
            self.emit("string", "looks like code", node)

    def on_Lambda(self, node, scope):
        if self.ctx == "kernel":
            self.emit("kernel_syntax", "lambda", node)
        for default in [*node.args.defaults, *(d for d in node.args.kw_defaults if d is not None)]:
            self.expr(default, scope)
        self.expr(node.body, self.binder.scopes[id(node)])

    def comprehension(self, node, scope):
        inner = self.binder.scopes[id(node)]
        for generator in node.generators:
            self.expr(generator.iter, inner)
            self.expr(generator.target, inner, "bind")
            for condition in generator.ifs:
                self.expr(condition, inner)
        for field in ("elt", "key", "value"):
            part = getattr(node, field, None)
            if part is not None:
                self.expr(part, inner)

    on_ListComp = on_SetComp = on_DictComp = on_GeneratorExp = comprehension

    def on_NamedExpr(self, node, scope):
        self.expr(node.value, scope, "load" if scope.home().kind == "class" else "alias")
        self.target(node.target, scope)

    # -- assignment

    def target(self, node, scope):
        if isinstance(node, ast.Name):
            if is_dunder(node.id):
                self.emit("dunder", node.id, node, "store")
        elif isinstance(node, ast.Starred):
            self.target(node.value, scope)
        elif isinstance(node, (ast.Tuple, ast.List)):
            for element in node.elts:
                self.target(element, scope)
        else:
            self.expr(node, scope, "store")

    def assign(self, value, targets, scope):
        """A name or dotted name that is assigned to a local name makes an alias. Uses of the alias are resolved, so the module is
        not passed on. In a class body it is, because attributes of a class are not resolved."""
        plain = scope.kind != "class" and all(isinstance(t, ast.Name) for t in targets)
        if plain and isinstance(value, (ast.Name, ast.Attribute)):
            self.expr(value, scope, "alias")
        elif (scope.kind != "class" and isinstance(value, (ast.Tuple, ast.List)) and len(targets) == 1
              and isinstance(targets[0], (ast.Tuple, ast.List)) and len(targets[0].elts) == len(value.elts)
              and not any(isinstance(e, ast.Starred) for e in value.elts + targets[0].elts)):
            for element, target in zip(value.elts, targets[0].elts):
                self.assign(element, [target], scope)
        else:
            self.expr(value, scope)

    def owned(self, targets, scope):
        """At module level the value of `NAME = ...` belongs to NAME as well, so that references pass through tables."""
        if scope.kind != "module" or self.muted:
            return []
        tables = [t.value for t in targets if isinstance(t, ast.Subscript)]
        return [t.id for t in [*targets, *tables] if isinstance(t, ast.Name)]

    def on_Assign(self, node, scope):
        before = set(self.refs.get(self.owner, ()))
        names = self.owned(node.targets, scope)
        if names:
            self.refs[self.owner] = set()
        self.assign(node.value, node.targets, scope)
        if names:
            mentioned = self.refs[self.owner]
            for name in names:
                self.refs.setdefault(name, set()).update(mentioned)
            self.refs[self.owner] = before | mentioned
            if isinstance(node.value, (ast.Dict, ast.List, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp, ast.Call)):
                self.emit("state", names[0], node)
        for target in node.targets:
            self.target(target, scope)

    def on_AnnAssign(self, node, scope):
        self.annotation(node.annotation, scope)
        if node.value is not None:
            self.on_Assign(ast.copy_location(ast.Assign(targets=[node.target], value=node.value), node), scope)
        else:
            self.target(node.target, scope)

    def on_AugAssign(self, node, scope):
        self.operator(BINOPS[type(node.op)] + "=", (node.target,), node, scope)
        if isinstance(node.op, ast.MatMult):
            self.emit("operator", "@", node, "", "unknown")
        self.expr(node.value, scope)
        self.target(node.target, scope)

    def on_Delete(self, node, scope):
        for target in node.targets:
            if not isinstance(target, ast.Name):
                self.expr(target, scope, "del")

    # -- statements

    def on_If(self, node, scope):
        if scope.kind == "module" and is_main_guard(node):
            self.muted += 1
            self.block(node.body, scope)
            self.muted -= 1
            self.block(node.orelse, scope)
            return
        self.children(node, scope)

    def on_For(self, node, scope):
        self.expr(node.iter, scope)
        self.target(node.target, scope)
        self.block(node.body, scope)
        self.block(node.orelse, scope)

    on_AsyncFor = on_For

    def on_With(self, node, scope):
        for item in node.items:
            self.expr(item.context_expr, scope)
            if item.optional_vars is not None:
                self.target(item.optional_vars, scope)
        self.block(node.body, scope)

    on_AsyncWith = on_With

    def on_Try(self, node, scope):
        self.emit("kernel_syntax" if self.ctx == "kernel" else "try", "try", node)
        self.children(node, scope)

    on_TryStar = on_Try

    def bound_name(self, name, node):
        """A name that a statement other than an assignment binds."""
        if name and is_dunder(name):
            self.emit("dunder", name, node, "store")

    def on_ExceptHandler(self, node, scope):
        self.bound_name(node.name, node)
        self.children(node, scope)

    def on_MatchAs(self, node, scope):
        self.bound_name(node.name, node)
        self.children(node, scope)

    def on_MatchStar(self, node, scope):
        self.bound_name(node.name, node)

    def on_MatchClass(self, node, scope):
        """`case C(name=pattern)` reads the attribute `name`."""
        for attr in node.kwd_attrs:
            self.emit("attribute", attr, node, "load", "unknown")
        self.expr(node.cls, scope)
        for pattern in node.patterns + node.kwd_patterns:
            self.statement(pattern, scope)

    def on_MatchMapping(self, node, scope):
        self.bound_name(node.rest, node)
        self.children(node, scope)

    def on_Global(self, node, scope):
        for name in node.names:
            if self.ctx == "kernel":
                self.emit("kernel_syntax", "global", node)
            self.emit("global", name, node)
            if name in self.binder.module.names:
                self.refer(name)
            self.bound_name(name, node)

    def on_Nonlocal(self, node, scope):
        for name in node.names:
            if self.ctx == "kernel":
                self.emit("kernel_syntax", "nonlocal", node)
            self.emit("nonlocal", name, node)

    def on_Import(self, node, scope):
        if self.ctx == "kernel":
            self.emit("kernel_syntax", "import", node)
        for alias in node.names:
            bound = alias.asname or alias.name.partition(".")[0]
            self.emit("import", alias.name, node, "unused" if self.is_unused(bound, scope) else "import")
            self.bound_name(alias.asname or alias.name, node)

    def on_ImportFrom(self, node, scope):
        if self.ctx == "kernel":
            self.emit("kernel_syntax", "import", node)
        base = "." * node.level + (node.module or "")
        use = "relative" if node.level else "from"
        for alias in node.names:
            unused = alias.name != "*" and not node.level and self.is_unused(alias.asname or alias.name, scope)
            self.emit("import", base, node, "star" if alias.name == "*" else "unused" if unused else use)
            if alias.name != "*":
                self.path_fact(base + "." + alias.name, node, "unused" if unused else "import")
            self.bound_name(alias.asname or alias.name, node)

    def is_unused(self, name, scope):
        """Whether the name that an import binds has no other binding and no mention. Names in a class count as used, because they
        can be found as attributes."""
        return (scope.kind != "class" and name not in scope.outer and len(scope.names.get(name, ())) == 1
                and name not in self.mentioned)

    def annotation(self, node, scope):
        """Annotations name types. One that computes is judged as host code."""
        if node is None:
            return
        saved = self.ctx
        if self.ctx == "host" and all(isinstance(n, ANNOTATION_NODES) for n in ast.walk(node)):
            self.ctx = "annotation"
        elif self.future_annotations or self.ctx == "kernel":
            self.ctx = "annotation"
        self.expr(node, scope)
        self.ctx = saved

    def on_FunctionDef(self, node, scope):
        function = self.binder.by_node[id(node)]
        if self.ctx == "kernel":
            self.emit("kernel_syntax", "def", node)
        if is_dunder(node.name):
            self.emit("def", node.name, node, "method" if scope.kind == "class" else "function")
        if scope.kind != "class":
            self.bound_name(node.name, node)
        for decorator in node.decorator_list:
            called = isinstance(decorator, ast.Call)
            self.expr(decorator, scope, "load" if called else "decorator")
        args = node.args
        for default in [*args.defaults, *(d for d in args.kw_defaults if d is not None)]:
            self.expr(default, scope)
        # The header runs at import and belongs to the enclosing code; the body belongs to the function.
        for arg in args.posonlyargs + args.args + args.kwonlyargs + [a for a in (args.vararg, args.kwarg) if a]:
            self.annotation(arg.annotation, scope)
        self.annotation(node.returns, scope)
        saved = (self.ctx, self.owner, self.fn)
        if not self.owner:
            # a decorator may call it; module-level dunders are called by the interpreter
            if self.may_run(node.decorator_list, scope) or (is_dunder(node.name) and scope.kind == "module"):
                self.refer(function.owner)
            self.owner = function.owner
            for value in node.decorator_list:
                called = value.func if isinstance(value, ast.Call) else value
                if isinstance(called, ast.Name):
                    self.decorated.append((called.id, function.owner))
                for name in ast.walk(value):
                    if isinstance(name, ast.Name):
                        self.touch_base(name, scope)
        self.fn = function.qualname
        if function.jit:
            self.ctx = "kernel"
        never_runs = (scope.kind == "class" and self.has_gradient and node.name in GRADIENTS
                      and node.name not in self.mentioned)
        self.muted += never_runs
        self.block(node.body, function.scope)
        self.muted -= never_runs
        self.ctx, self.owner, self.fn = saved

    on_AsyncFunctionDef = on_FunctionDef

    def may_run(self, decorators, scope):
        """Whether one of the decorators may call the decorated function, even if no code mentions the function."""
        return not all(values and scope.kind == "class" and INERT_DECORATORS.issuperset(values)
                       for values in (self.resolver.value(decorator, scope) for decorator in decorators))

    def bases(self, nodes, scope):
        names = []
        for node in nodes:
            values = self.resolver.value(node, scope)
            paths = sorted(v[1] for v in values if v[0] == "path")
            local = sorted(v[1].qualname for v in values if v[0] == "class")
            names.extend(paths or local or ["?"])
        return ",".join(names)[:MAX_NAME]

    def on_ClassDef(self, node, scope):
        if self.ctx == "kernel":
            self.emit("kernel_syntax", "class", node)
        bases = self.bases(node.bases, scope)
        self.emit("class", node.name, node, "", bases)
        self.bound_name(node.name, node)
        for decorator in node.decorator_list:
            self.expr(decorator, scope, "load" if isinstance(decorator, ast.Call) else "decorator")
        for base in node.bases:
            self.expr(base, scope, "base")
        for keyword in node.keywords:
            self.emit("class", node.name, node, "keyword", keyword.arg or "**")
            self.expr(keyword.value, scope)
        inner = self.binder.classes[id(node)]
        derives = node.bases and not INERT_BASES.issuperset(bases.split(","))
        if not self.owner and (node.decorator_list or derives or node.keywords):
            self.refer(inner.owner)  # decorators, metaclasses and __init_subclass__ get the class at import
        # The class body runs at import, so it belongs to the module; method bodies belong to the class. Names that the class body
        # mentions can also be reached through the class: apply = staticmethod(launch).
        saved, self.has_gradient = self.has_gradient, not FUNCTION.isdisjoint(bases.split(","))
        before, self.refs[self.owner] = self.refs.get(self.owner, set()), set()
        self.block(node.body, inner)
        mentioned = self.refs[self.owner]
        self.refs[self.owner] = before | mentioned
        self.refs.setdefault(inner.owner, set()).update(mentioned)
        self.has_gradient = saved


def mentions(tree):
    """All names in a source that may be mentions of a module-level name, except below the main guard."""
    names, stack = set(), list(tree.body)
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Name):
            names.add(node.id)
        elif isinstance(node, ast.Attribute):
            names.add(node.attr)
        elif isinstance(node, (ast.Global, ast.Nonlocal)):
            names.update(node.names)
        elif isinstance(node, ast.MatchClass):
            names.update(node.kwd_attrs)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.isidentifier():
            names.add(node.value)
        if isinstance(node, ast.If) and is_main_guard(node) and node in tree.body:
            stack.extend(node.orelse)
        else:
            stack.extend(ast.iter_child_nodes(node))
    return names


def is_alignment(node):
    """Whether a node is like x.data_ptr() % 16, which gives a few bits of an address: too few for the key of a cache."""
    left, right = node.left, node.right
    return (isinstance(node.op, ast.Mod) and isinstance(left, ast.Call) and not left.args and not left.keywords
            and isinstance(left.func, ast.Attribute) and left.func.attr == "data_ptr"
            and isinstance(right, ast.Constant) and type(right.value) is int and right.value in (2, 4, 8, 16, 32, 64, 128))


def repr_value(value):
    return tuple(part if isinstance(part, str) else getattr(part, "qualname", "") for part in value)


def parameters(node):
    args = node.args
    out = []
    plain = args.posonlyargs + args.args
    without = len(plain) - len(args.defaults)
    for i, arg in enumerate(plain):
        kind = "positional_only" if i < len(args.posonlyargs) else "positional"
        out.append({"name": arg.arg, "kind": kind, "default": i >= without})
    if args.vararg:
        out.append({"name": args.vararg.arg, "kind": "var_positional", "default": True})
    for arg, default in zip(args.kwonlyargs, args.kw_defaults):
        out.append({"name": arg.arg, "kind": "keyword", "default": default is not None})
    if args.kwarg:
        out.append({"name": args.kwarg.arg, "kind": "var_keyword", "default": True})
    return out


def decorator_paths(resolver, function):
    paths = []
    for decorator in function.node.decorator_list:
        target = decorator.func if isinstance(decorator, ast.Call) else decorator
        values = resolver.value(target, function.outer)
        paths.append(sorted(v[1] for v in values if v[0] == "path") or
                     ["jit" for v in values if v[0] in ("jitmaker", "jitwrapper")] or ["?"])
    return paths


def mark_kernels(binder, resolver):
    """Find the jit functions: those that are decorated, and those that are passed to triton.jit(...) as values."""
    for function in binder.functions:
        for paths in decorator_paths(resolver, function):
            function.decorators.extend(paths)
            if any(path in JIT_PATHS or path == "jit" for path in paths):
                function.jit = True
            if any(path in CONSTEXPR_PATHS for path in paths):
                function.constexpr = True
        if function in resolver.later_jit:
            function.jit = True


def binding_list(binder, resolver, emitter):
    out = []
    for name, values in binder.module.names.items():
        entry = {"name": name[:MAX_NAME], "line": 0, "kind": "value", "params": None, "settled": True, "jit": False,
                 "is_async": False, "is_generator": False, "decorators": [], "alias_of": None,
                 "refs": sorted(emitter.refs.get(name, ()))}
        kinds = {value[0] for value in values}
        functions = [value[1] for value in values if value[0] == "function"]
        settled = binder.settled(name)
        if functions:
            may_be = [settled] if settled else functions
            last = may_be[-1]
            entry.update(line=last.node.lineno, kind="function" if settled or kinds == {"function"} else "value",
                         params=parameters(last.node), settled=settled is not None, jit=any(f.jit for f in may_be),
                         is_async=all(isinstance(f.node, ast.AsyncFunctionDef) for f in may_be),
                         is_generator=all(f.is_generator for f in may_be), decorators=last.decorators)
        elif kinds == {"class"}:
            entry["kind"] = "class"
        elif kinds == {"path"}:
            entry["kind"] = "import"
        else:
            solved = resolver.env.get((id(binder.module), name), frozenset())
            targets = [v[1] for v in solved if v[0] == "function"]
            if len(targets) == 1 and len(solved) == 1:
                entry.update(alias_of=targets[0].qualname, params=parameters(targets[0].node),
                             line=targets[0].node.lineno)
            entry["jit"] = any(v[0] == "jit" for v in solved)
        out.append(entry)
    return out


def empty(source):
    return {"schema": "kgb.ast_facts/1", "python": "%d.%d.%d" % sys.version_info[:3], "bytes": len(source), "nodes": 0,
            "error": None, "bindings": [], "module_refs": [], "kernels": [], "facts": [], "numbers": []}


def failed(source, kind, line, message):
    document = empty(source)
    document["error"] = {"kind": kind, "line": line or 0, "message": str(message)[:300]}
    return document


def analyse(source, tree):
    document = empty(source)
    document["nodes"] = sum(1 for _ in ast.walk(tree))
    if document["nodes"] > MAX_NODES:
        raise Limit("more than %d syntax nodes" % MAX_NODES)
    future = any(isinstance(n, ast.ImportFrom) and n.module == "__future__"
                 and any(a.name == "annotations" for a in n.names) for n in tree.body)
    binder = Binder(tree)
    resolver = Resolver(binder)
    resolver.solve()
    mark_kernels(binder, resolver)
    resolver.solve()  # again: only now is kernel[grid] recognised as a launcher
    emitter = Emitter(tree, binder, resolver, future)
    emitter.block(tree.body, binder.module)
    emitter.fill_registries()
    emitter.follow_tables()
    document["bindings"] = binding_list(binder, resolver, emitter)
    document["module_refs"] = sorted(emitter.refs.get("", ()))
    document["kernels"] = [{"name": f.qualname, "line": f.node.lineno, "owner": f.owner}
                           for f in binder.functions if f.jit]
    document["facts"] = [fact for _, fact in sorted(emitter.facts.items(), key=lambda item: item[0])]
    document["numbers"] = numbers(tree)
    return document


def facts(source):
    """The facts of a source text given as bytes. Never raises for any input."""
    if len(source) > MAX_BYTES:
        return failed(source, "limit", 0, "longer than %d bytes" % MAX_BYTES)
    try:
        text = source.decode("utf-8")
    except UnicodeDecodeError as error:
        return failed(source, "encoding", source[:error.start].count(b"\n") + 1, "not UTF-8: %s" % error.reason)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text, "kernel.py")
        return analyse(source, tree)
    except SyntaxError as error:
        return failed(source, "syntax", error.lineno, error.msg)
    except ValueError as error:  # NUL bytes, surrogates
        return failed(source, "syntax", 0, error)
    except Limit as error:
        return failed(source, "limit", 0, error)
    except (RecursionError, MemoryError):
        return failed(source, "limit", 0, "nested too deeply")


def main():
    source = sys.stdin.buffer.read(MAX_BYTES + 1)
    json.dump(facts(source), sys.stdout, ensure_ascii=True, separators=(",", ":"))
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
