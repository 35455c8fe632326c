# SPDX-License-Identifier: MIT
"""Names of a kernel.py: the scopes that bind them, and their possible values. Used by ast_facts.py; nothing is executed.

An expression's value is a set of abstract values, tuples whose first item is its kind:

    ("path", "torch.sum")        something imported, or a builtin as "builtins.eval"
    ("function", Function)       defined here; ("jit", Function) wrapped by triton.jit, ("launcher", Function) kernel[grid]
    ("jitmaker",)                a decorator that makes a function a kernel: triton.jit(...), triton.autotune(...)
    ("class", Scope)             defined here; ("instance", Scope) an object of it, ("self", Scope) a method's first parameter,
                                 ("ctx", Scope) the first one of a static method, to which torch.autograd.Function passes a
                                 context
    ("param", function, name)    parameter of the function of that qualified name
    ("tensor",) ("tensors",)     a tensor made by torch, several of them
    ("type",)                    the type of a tensor or parameter, or what leads on from it: type(x), x.__class__.__mro__[1]
    ("info",) ("literal",)       torch.finfo(...); numbers, strings, lists and the like
    ("unknown",)
"""

import ast
import builtins

MAX_VALUES = 24  # possible values of one name
MAX_ROUNDS = 64  # of the alias fixpoint
MAX_WORK = 2_000_000  # expression evaluations, so that no nesting of aliases can take exponential time
MAX_NAME = 200
MAX_STRINGS = 64  # possible texts of one expression
MAX_DEPTH = 12  # steps to a text
# Python's builtins, with those of the site module, which not every interpreter loads.
BUILTINS = frozenset(name for name in dir(builtins) if not name.startswith("_")) | {
    "__import__", "__build_class__", "exit", "quit", "help", "license", "credits", "copyright"}
JIT_PATHS = frozenset(["triton.jit", "triton.runtime.jit.jit", "triton.runtime.jit"])
JIT_WRAPPERS = frozenset(["triton.autotune", "triton.heuristics", "triton.runtime.autotuner.autotune",
                          "triton.runtime.autotuner.heuristics"])
INFO_PATHS = frozenset(["torch.finfo", "torch.iinfo"])
TENSOR_MAKERS = frozenset("torch." + name for name in (
    "empty empty_like empty_strided zeros zeros_like ones ones_like full full_like tensor as_tensor scalar_tensor "
    "as_strided broadcast_to reshape permute transpose t squeeze unsqueeze flatten movedim narrow select ravel "
    "view_as_real view_as_complex sum add mul matmul mm rand randn arange").split())
TENSORS_MAKERS = frozenset(["torch.broadcast_tensors", "torch.unbind", "torch.split", "torch.chunk"])
# Methods and attributes of a tensor that yield the same data as a tensor again.
TENSOR_KEEPS = frozenset((
    "T mT H mH t to contiguous clone detach view view_as reshape reshape_as expand expand_as permute transpose squeeze "
    "unsqueeze flatten movedim moveaxis narrow select as_strided broadcast_to float half double bfloat16 int long bool "
    "type cuda data real imag ravel swapaxes unfold diagonal resize_ copy_ zero_ fill_ requires_grad_").split())
TYPE_LEADS = frozenset("__mro__ __base__ __bases__ __dict__ __class__ mro".split())  # from a type to types and their attributes
LITERAL_BUILTINS = frozenset("list dict set tuple frozenset str int float bool bytes len range repr enumerate zip".split())
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
CACHES = frozenset([("path", "functools.cache"), ("path", "functools.lru_cache")])
UNKNOWN = ("unknown",)


class Limit(Exception):
    """The source is too large or too complex to be judged."""


class Scope:
    """One lexical scope. `names` maps a name to the things that may be bound to it."""

    __slots__ = ("kind", "node", "parent", "names", "outer", "owner", "qualname", "attributes", "loose", "made")

    def __init__(self, kind, node, parent, qualname, owner):
        self.kind = kind  # module | function | class | comprehension
        self.node = node
        self.parent = parent
        self.names = {}
        self.outer = {}  # name -> scope, from global and nonlocal statements
        self.owner = owner
        self.qualname = qualname
        self.attributes = set()  # of a class: set on self somewhere
        self.loose = False  # of a class: its methods may be called with any object as self
        self.made = False  # of a class: there may be objects of it

    def home(self):
        """The scope in which a walrus (:=) binds: for a comprehension, the one around it."""
        scope = self
        while scope.kind == "comprehension":
            scope = scope.parent
        return scope


class Function:
    __slots__ = ("node", "scope", "outer", "qualname", "owner", "jit", "constexpr", "decorators", "is_generator", "returns")

    def __init__(self, node, scope, outer, qualname, owner):
        self.node, self.scope, self.outer, self.qualname, self.owner = node, scope, outer, qualname, owner
        self.jit = False
        self.constexpr = False
        self.decorators = []
        self.is_generator = False
        self.returns = []  # the expressions that it returns


def is_dunder(name):
    return len(name) > 4 and name.startswith("__") and name.endswith("__")


def is_main_guard(node):
    """`if __name__ == "__main__":` and nothing else."""
    test = node.test
    if not (isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq)):
        return False
    sides = [test.left, test.comparators[0]]
    names = [s for s in sides if isinstance(s, ast.Name) and s.id == "__name__"]
    texts = [s for s in sides if isinstance(s, ast.Constant) and s.value == "__main__"]
    return len(names) == 1 and len(texts) == 1


class Binder:
    """The first pass: finds the scopes, and the values that may be bound to each name."""

    def __init__(self, tree):
        self.scopes = {}
        self.functions = []
        self.by_node = {}
        self.classes = {}
        self.module = Scope("module", tree, None, "", "")
        self.scopes[id(tree)] = self.module
        self.statement = None  # the module's statement that is being visited
        self.calls = {}  # name -> calls of it, with their scopes
        self.loads = {}  # name -> how often the source reads it
        self.places = {}  # name of the module -> statements that bind it; None: code that may run at any time
        for statement in tree.body:
            self.statement = statement
            self.visit(statement, self.module)

    def add(self, scope, name, value):
        target = scope.outer.get(name, scope)
        if target is self.module:
            self.places.setdefault(name, []).append(self.statement if scope is self.module else None)
        target.names.setdefault(name, []).append(value)

    def settled(self, name):
        """The function to which a module-level name is certainly bound after the import: its definition is a statement of the
        module itself, and the last one that binds the name. None: unknown."""
        places = self.places.get(name, [None])
        last = places[-1]
        if None in places or places.count(last) != 1 or not isinstance(last, FUNCTIONS) or last.name != name:
            return None
        return self.by_node[id(last)]

    def block(self, statements, scope):
        for statement in statements:
            self.visit(statement, scope)

    def visit(self, node, scope):
        method = getattr(self, "on_" + type(node).__name__, None)
        if method is not None:
            method(node, scope)
        else:
            self.children(node, scope)

    def children(self, node, scope):
        for child in ast.iter_child_nodes(node):
            self.visit(child, scope)

    def target(self, target, value, scope):
        """Bind an assignment target. value: ("expr", node, scope), ("element", node, scope), ("part", node, scope, i) for the i-th
        item of each element, or UNKNOWN."""
        if isinstance(target, ast.Name):
            self.add(scope, target.id, value)
        elif isinstance(target, ast.Starred):
            self.target(target.value, UNKNOWN, scope)
        elif isinstance(target, (ast.Tuple, ast.List)):
            source = value[1] if value[0] == "expr" else None
            if (isinstance(source, (ast.Tuple, ast.List)) and len(source.elts) == len(target.elts)
                    and not any(isinstance(e, ast.Starred) for e in source.elts + target.elts)):
                for element, part in zip(target.elts, source.elts):
                    self.target(element, ("expr", part, value[2]), scope)
            else:
                for i, element in enumerate(target.elts):
                    part = UNKNOWN
                    if source is not None:
                        part = ("element", source, value[2])
                    elif value[0] == "element" and not any(isinstance(e, ast.Starred) for e in target.elts):
                        part = ("part", value[1], value[2], i)
                    self.target(element, part, scope)
        else:
            self.visit(target, scope)

    def on_Assign(self, node, scope):
        self.visit(node.value, scope)
        for target in node.targets:
            self.target(target, ("expr", node.value, scope), scope)

    def on_AnnAssign(self, node, scope):
        self.visit(node.annotation, scope)
        if node.value is not None:
            self.visit(node.value, scope)
            self.target(node.target, ("expr", node.value, scope), scope)
        else:
            self.target(node.target, UNKNOWN, scope)

    def on_AugAssign(self, node, scope):
        self.visit(node.value, scope)
        self.target(node.target, UNKNOWN, scope)

    def on_NamedExpr(self, node, scope):
        self.visit(node.value, scope)
        self.target(node.target, ("expr", node.value, scope), scope.home())

    def on_For(self, node, scope):
        self.visit(node.iter, scope)
        self.target(node.target, ("element", node.iter, scope), scope)
        self.block(node.body, scope)
        self.block(node.orelse, scope)

    on_AsyncFor = on_For

    def on_Call(self, node, scope):
        if isinstance(node.func, ast.Name):
            self.calls.setdefault(node.func.id, []).append((node, scope))
        self.children(node, scope)

    def on_Name(self, node, scope):
        self.loads[node.id] = self.loads.get(node.id, 0) + isinstance(node.ctx, ast.Load)

    def on_With(self, node, scope):
        for item in node.items:
            self.visit(item.context_expr, scope)
            if item.optional_vars is not None:
                self.target(item.optional_vars, UNKNOWN, scope)
        self.block(node.body, scope)

    on_AsyncWith = on_With

    def on_ExceptHandler(self, node, scope):
        if node.name:
            self.add(scope, node.name, UNKNOWN)
        self.children(node, scope)

    def on_MatchAs(self, node, scope):
        if node.name:
            self.add(scope, node.name, UNKNOWN)
        self.children(node, scope)

    def on_MatchStar(self, node, scope):
        if node.name:
            self.add(scope, node.name, UNKNOWN)

    def on_MatchMapping(self, node, scope):
        if node.rest:
            self.add(scope, node.rest, UNKNOWN)
        self.children(node, scope)

    def on_Global(self, node, scope):
        for name in node.names:
            scope.outer[name] = self.module

    def on_Nonlocal(self, node, scope):
        for name in node.names:
            outer = scope.parent
            while outer is not None and not (outer.kind == "function" and name in outer.names):
                outer = outer.parent
            scope.outer[name] = outer or self.module

    def on_Import(self, node, scope):
        for alias in node.names:
            if alias.asname:
                self.add(scope, alias.asname, ("path", alias.name))
            else:
                root = alias.name.split(".")[0]
                self.add(scope, root, ("path", root))

    def on_ImportFrom(self, node, scope):
        base = "." * node.level + (node.module or "")
        for alias in node.names:
            if alias.name != "*":
                self.add(scope, alias.asname or alias.name, ("path", base + "." + alias.name))

    def qualify(self, scope, name):
        return name if scope.kind == "module" else scope.qualname + "." + name

    def on_FunctionDef(self, node, scope):
        args = node.args
        for expr in [*node.decorator_list, *args.defaults, *(d for d in args.kw_defaults if d is not None)]:
            self.visit(expr, scope)
        qualname = self.qualify(scope, node.name)
        owner = scope.owner or node.name
        inner = Scope("function", node, scope, qualname, owner)
        self.scopes[id(node)] = inner
        function = Function(node, inner, scope, qualname, owner)
        self.functions.append(function)
        self.by_node[id(node)] = function
        self.add(scope, node.name, ("function", function))
        self.type_params(node, inner)
        is_method = scope.kind == "class"
        is_static = any(isinstance(d, ast.Name) and d.id == "staticmethod" for d in node.decorator_list)
        plain = args.posonlyargs + args.args
        for i, arg in enumerate(plain + args.kwonlyargs):
            if is_method and i == 0 and plain:
                value = ("ctx" if is_static else "self", scope)
            else:
                value = ("param", qualname, arg.arg, arg.annotation, function)
            inner.names.setdefault(arg.arg, []).append(value)
        for arg in (args.vararg, args.kwarg):
            if arg is not None:
                inner.names.setdefault(arg.arg, []).append(UNKNOWN)
        # global and nonlocal hold for the whole body, also for what stands above them
        for child in own_nodes(node.body):
            if isinstance(child, ast.Global):
                self.on_Global(child, inner)
            elif isinstance(child, ast.Nonlocal):
                self.on_Nonlocal(child, inner)
            elif isinstance(child, (ast.Yield, ast.YieldFrom)):
                function.is_generator = True
            elif isinstance(child, ast.Return) and child.value is not None:
                function.returns.append(child.value)
        self.block(node.body, inner)

    on_AsyncFunctionDef = on_FunctionDef

    def type_params(self, node, scope):
        """`def f[T](...)`, `class C[T]`, `type A[T] = ...` of Python 3.12."""
        for param in getattr(node, "type_params", ()):
            self.add(scope, param.name, UNKNOWN)

    def on_TypeAlias(self, node, scope):
        self.type_params(node, scope)
        self.add(scope, node.name.id, UNKNOWN)
        self.visit(node.value, scope)

    def on_Lambda(self, node, scope):
        args = node.args
        for expr in [*args.defaults, *(d for d in args.kw_defaults if d is not None)]:
            self.visit(expr, scope)
        inner = Scope("function", node, scope, self.qualify(scope, "<lambda>"), scope.owner)
        self.scopes[id(node)] = inner
        for arg in args.posonlyargs + args.args + args.kwonlyargs + [a for a in (args.vararg, args.kwarg) if a]:
            inner.names.setdefault(arg.arg, []).append(UNKNOWN)
        self.visit(node.body, inner)

    def on_ClassDef(self, node, scope):
        for expr in [*node.decorator_list, *node.bases, *(k.value for k in node.keywords)]:
            self.visit(expr, scope)
        owner = scope.owner or node.name
        inner = Scope("class", node, scope, self.qualify(scope, node.name), owner)
        self.scopes[id(node)] = inner
        self.classes[id(node)] = inner
        self.type_params(node, scope)
        self.add(scope, node.name, ("class", inner))
        self.block(node.body, inner)
        for method in inner.names.values():
            for value in method:
                if value[0] == "function":
                    inner.attributes |= set_on_self(value[1].node)

    def comprehension(self, node, scope):
        inner = Scope("comprehension", node, scope, scope.qualname, scope.owner)
        self.scopes[id(node)] = inner
        for generator in node.generators:
            self.visit(generator.iter, inner)
            self.target(generator.target, ("element", generator.iter, inner), inner)
            for condition in generator.ifs:
                self.visit(condition, inner)
        for field in ("elt", "key", "value"):
            part = getattr(node, field, None)
            if part is not None:
                self.visit(part, inner)

    on_ListComp = on_SetComp = on_DictComp = on_GeneratorExp = comprehension


def set_on_self(node):
    """Attributes that a method sets on its first parameter."""
    plain = node.args.posonlyargs + node.args.args
    if not plain:
        return set()
    return {n.attr for n in ast.walk(node) if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store)
            and isinstance(n.value, ast.Name) and n.value.id == plain[0].arg}


# Decorators after which a method is still called only with its objects, and decorators that do not pass the class on. Any other
# decorator may call the function with any arguments.
METHOD_DECORATORS = frozenset(["builtins.property", "functools.cached_property", "functools.lru_cache", "functools.cache",
                               "abc.abstractmethod", "typing.overload", "typing.final", "typing.override", "torch.no_grad",
                               "torch.enable_grad", "torch.inference_mode", "torch.amp.custom_fwd", "torch.amp.custom_bwd",
                               "torch.cuda.amp.custom_fwd", "torch.cuda.amp.custom_bwd",
                               "torch.autograd.function.once_differentiable"])
CLASS_DECORATORS = frozenset(["dataclasses.dataclass", "enum.unique", "functools.total_ordering", "typing.final",
                              "typing.runtime_checkable"])
TYPE_TESTS = frozenset(["builtins.isinstance", "builtins.issubclass", "builtins.super"])


class Mentions:
    """Finds the classes whose methods may be called with any object as self (by C.method(x), or by any other access to C or to
    the plain function), and the classes that have objects. Classes of the same name count as one, whatever their scopes."""

    def __init__(self, tree, binder, resolver):
        self.binder, self.resolver = binder, resolver
        self.parents, self.names, self.attributes = {}, {}, {}
        self.bound = frozenset(name for scope in binder.scopes.values() for name in scope.names)
        for node in ast.walk(tree):
            for child in ast.iter_child_nodes(node):
                self.parents[id(child)] = node
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                self.names.setdefault(node.id, []).append(node)
            elif isinstance(node, ast.Attribute):
                self.attributes.setdefault(node.attr, []).append(node)
        self.anything = any(not self.is_type_test(node)
                            for node in self.names.get("type", []) + self.attributes.get("__class__", []))

    def mark(self):
        """Sets `loose` and `made` of all classes. Returns whether __init__, too, may be called with any object as self."""
        handed_on = False
        for scope in self.binder.classes.values():
            name = scope.node.name
            mentioned = self.names.get(name, ())
            given = (any(not self.is_foreign(node) for node in self.attributes.get(name, ()))
                     or any(self.is_given(node) for node in mentioned))
            handed_on = handed_on or given
            scope.made = any(self.is_called(node) for node in mentioned)
            scope.loose = (self.anything or given or self.is_open(scope)
                           or any(self.shows_method(node, scope) for node in mentioned))
        return self.anything or handed_on or any(
            not (isinstance(node.value, ast.Call) and self.is_builtin(node.value.func, ("builtins.super",)))
            for name in ("__init__", "__post_init__") for node in self.attributes.get(name, ()))

    def paths(self, node, scope):
        """The paths of an expression's possible values; "?" stands for a value that has no path."""
        return {value[1] if value[0] == "path" else "?" for value in self.resolver.value(node, scope)}

    def is_builtin(self, node, paths):
        return isinstance(node, ast.Name) and "builtins." + node.id in paths and node.id not in self.bound

    def is_type_test(self, node):
        """Whether a mention of type or __class__ is only a test: type(x) is C, type(x).__name__, or the same with x.__class__."""
        if isinstance(node, ast.Name):
            node = self.parents[id(node)]
            if not isinstance(node, ast.Call) or len(node.args) != 1:
                return False
        parent = self.parents[id(node)]
        return isinstance(parent, ast.Compare) or (isinstance(parent, ast.Attribute)
                                                   and parent.attr in ("__name__", "__qualname__"))

    def is_foreign(self, node):
        """Whether a dotted name belongs to an imported module, as nn.SiLU does."""
        while isinstance(node, ast.Attribute):
            node = node.value
        bound = [value for scope in self.binder.scopes.values() for value in scope.names.get(getattr(node, "id", ""), ())]
        return bool(bound) and all(value[0] == "path" for value in bound)

    def is_called(self, node):
        parent = self.parents[id(node)]
        return isinstance(parent, ast.Call) and parent.func is node

    def is_given(self, node):
        """Whether the class is passed on as a value, for any use."""
        parent = self.parents[id(node)]
        if isinstance(parent, ast.Call):
            return parent.func is not node and not self.is_builtin(parent.func, TYPE_TESTS)
        if isinstance(parent, (ast.arg, ast.AnnAssign)):
            return parent.annotation is not node
        if isinstance(parent, FUNCTIONS):
            return parent.returns is not node
        return not isinstance(parent, (ast.Attribute, ast.ClassDef))

    def shows_method(self, node, scope):
        """Whether a mention of the class gives access to a plain method: C.method, or a class that inherits the methods."""
        parent = self.parents[id(node)]
        if isinstance(parent, ast.Attribute):
            return any(value[0] == "function" for value in scope.names.get(parent.attr, ()))
        return isinstance(parent, ast.ClassDef)

    def is_open(self, scope):
        """Whether the class statement itself passes on the class or one of its methods."""
        if any(not self.paths(called(decorator), scope.parent) <= CLASS_DECORATORS
               for decorator in scope.node.decorator_list):
            return True
        methods = {name for name, values in scope.names.items() if any(value[0] == "function" for value in values)}
        for statement in scope.node.body:
            if isinstance(statement, FUNCTIONS):
                if any(not self.keeps_method(decorator, scope, methods) for decorator in statement.decorator_list):
                    return True
            elif any(isinstance(node, ast.Name) and node.id in methods for node in ast.walk(statement)):
                return True
        return False

    def keeps_method(self, decorator, scope, methods):
        target = called(decorator)
        if isinstance(target, ast.Attribute) and target.attr in ("setter", "getter", "deleter"):
            return isinstance(target.value, ast.Name) and target.value.id in methods  # of a property
        if self.is_builtin(target, ("builtins.staticmethod",)):
            return True  # the binder uses this name for it
        return self.paths(target, scope) <= METHOD_DECORATORS


def called(decorator):
    return decorator.func if isinstance(decorator, ast.Call) else decorator


def argument_of(call, params, name):
    """The expression that a call passes for a parameter; None: it has its default, or is not to be seen."""
    plain = [param.arg for param in params.posonlyargs + params.args]
    if any(isinstance(argument, ast.Starred) for argument in call.args) or any(k.arg is None for k in call.keywords):
        return None
    if name in plain and plain.index(name) < len(call.args):
        return call.args[plain.index(name)]
    return next((keyword.value for keyword in call.keywords if keyword.arg == name), None)


def own_nodes(body):
    """Nodes of a function body that belong to the function itself, not to functions and classes inside it."""
    stack = list(reversed(body))
    while stack:
        node = stack.pop()
        yield node
        if isinstance(node, FUNCTIONS + (ast.ClassDef, ast.Lambda)):
            continue
        stack.extend(ast.iter_child_nodes(node))


class Resolver:
    """Computes the possible values of an expression, as a set of abstract values. The values of names are a fixpoint over all
    bindings in any order, so that every possible alias is found."""

    def __init__(self, binder):
        self.binder = binder
        self.env = {}
        self.later_jit = set()  # functions that are passed to triton.jit(...) as values
        self.returning = set()  # functions whose results are being found
        self.work = 0
        self.scope_list = list(binder.scopes.values())

    def solve(self):
        """Compute the values of all names. Sets of values only grow, so this may run again after more functions became
        kernels."""
        for _ in range(MAX_ROUNDS):
            if not self.round():
                break
        else:
            raise Limit("names are assigned to each other in too many steps")

    def round(self):
        changed = False
        for scope in self.scope_list:
            for name, bindings in scope.names.items():
                key = (id(scope), name)
                old = self.env.get(key, frozenset())
                new = set(old)
                for binding in bindings:
                    new |= self.binding(binding)
                if len(new) > MAX_VALUES:
                    raise Limit("'%s' is bound to too many different things" % name)
                if len(new) != len(old):
                    self.env[key] = frozenset(new)
                    changed = True
        return changed

    def binding(self, binding):
        kind = binding[0]
        if kind == "expr":
            return self.value(binding[1], binding[2])
        if kind == "element":
            return self.element(self.value(binding[1], binding[2]))
        if kind == "param":
            _, qualname, name, annotation, function = binding
            if annotation is not None and self.is_tensor_annotation(annotation):
                return {("param", qualname, name), ("tensor",)}
            return self.passed(function, name, {("param", qualname, name)})
        if kind == "path":
            return {("path", binding[1][:MAX_NAME])}
        return {UNKNOWN} if kind == "part" else {binding}

    def passed(self, function, name, otherwise):
        """What all calls pass for a parameter if that can only be objects of classes of this file, and nothing but a call by its
        name mentions the function."""
        node = function.node
        calls = self.binder.calls.get(node.name, ())
        if not calls or len(calls) != self.binder.loads[node.name] or node.decorator_list or function.outer.kind == "class":
            return otherwise
        out = set()
        for call, scope in calls:
            argument = argument_of(call, node.args, name)
            if argument is None:
                return otherwise
            out |= self.value(argument, scope)
        return out if all(value[0] == "instance" for value in out) else otherwise

    def is_tensor_annotation(self, node):
        return (isinstance(node, ast.Attribute) and node.attr == "Tensor" and isinstance(node.value, ast.Name)) or (
            isinstance(node, ast.Name) and node.id == "Tensor") or (
            isinstance(node, ast.Constant) and node.value in ("torch.Tensor", "Tensor"))

    @staticmethod
    def element(values):
        out = set()
        for value in values:
            if value[0] in ("tensors", "tensor"):
                out.add(("tensor",))
            else:
                out.add(UNKNOWN)
        return out

    def lookup(self, name, scope):
        """(values, scope that binds the name) or (None, None). A local name of a function always hides outer ones. A name of a
        module or a class may not be set yet, or may be deleted; then Python finds the outer one, so its values are included."""
        values, home = set(), None
        first = True
        while scope is not None:
            target = scope.outer.get(name)
            if target is not None:
                scope = target
                first = True
            if name in scope.names and (first or scope.kind != "class"):
                values |= self.env.get((id(scope), name), frozenset())
                home = home or scope
                if scope.kind not in ("class", "module"):
                    return values, home
            if scope.kind != "comprehension":
                first = False
            scope = scope.parent
        if home is not None and name in BUILTINS:
            values.add(("path", "builtins." + name))
        return (values, home) if home is not None else (None, None)

    def value(self, node, scope):
        self.work += 1
        if self.work > MAX_WORK:
            raise Limit("names are too entangled to be followed")
        method = getattr(self, "of_" + type(node).__name__, None)
        return method(node, scope) if method is not None else {UNKNOWN}

    def of_Name(self, node, scope):
        values, home = self.lookup(node.id, scope)
        if home is not None:
            return set(values)
        if node.id in BUILTINS:
            return {("path", "builtins." + node.id)}
        return {UNKNOWN}

    def of_Attribute(self, node, scope):
        return self.attribute(self.value(node.value, scope), node.attr)

    def attribute(self, values, attr):
        out = set()
        for value in values:
            if value[0] == "path":
                out.add(("path", (value[1] + "." + attr)[:MAX_NAME]))
            elif value[0] in ("tensor", "param") and attr in TENSOR_KEEPS:
                out.add(value)
            elif (value[0] in ("tensor", "param") and attr == "__class__") or (value[0] == "type" and attr in TYPE_LEADS):
                out.add(("type",))
            else:
                out.add(UNKNOWN)
        return out

    def of_Call(self, node, scope):
        out = set()
        for value in self.value(node.func, scope):
            out |= self.call(value, node, scope)
        return out

    def call(self, value, node, scope):
        if value[0] == "path":
            return self.call_path(value[1], node, scope)
        if value[0] == "class":
            return {("instance", value[1])}
        if value[0] == "function":
            return self.returned(value[1])
        if value[0] in ("tensor", "param", "type") and isinstance(node.func, ast.Attribute):
            return {value}  # x.contiguous(), type(x).mro(): attribute() kept only those
        if value[0] == "jitmaker":
            return self.as_jit(node, scope)
        return {UNKNOWN}

    def returned(self, function):
        """What a call returns if that can only be an object of a class of this file."""
        if not function.returns or function.is_generator or isinstance(function.node, ast.AsyncFunctionDef) or not all(
                self.value(called(decorator), function.outer) <= CACHES for decorator in function.node.decorator_list):
            return {UNKNOWN}
        if function in self.returning:
            return set()
        self.returning.add(function)
        out = set()
        for node in function.returns:
            out |= self.value(node, function.scope)
        self.returning.remove(function)
        return out if all(value[0] == "instance" for value in out) else {UNKNOWN}

    def call_path(self, path, node, scope):
        if path in JIT_PATHS:
            if node.args:
                return self.as_jit(node, scope)
            return {("jitmaker",)}
        if path in JIT_WRAPPERS:
            return {("jitwrapper",), ("jitmaker",)} if not node.args else {("jitmaker",)}
        if path in TENSOR_MAKERS:
            return {("tensor",)}
        if path in TENSORS_MAKERS:
            return {("tensors",)}
        if path in INFO_PATHS:
            return {("info",)}
        if path == "builtins.getattr" and len(node.args) >= 2:
            values = self.value(node.args[0], scope)
            return set().union(*(self.attribute(values, name) for name in self.strings(node.args[1], scope) or ())) or {UNKNOWN}
        if path == "builtins.type" and len(node.args) == 1:
            of_tensor = any(value[0] in ("tensor", "param") for value in self.value(node.args[0], scope))
            return {("type",)} if of_tensor else {UNKNOWN}
        if path == "builtins.vars" and len(node.args) == 1:
            return {value for value in self.value(node.args[0], scope) if value[0] == "type"} or {UNKNOWN}
        if path == "importlib.import_module" and len(node.args) == 1:
            return {("path", name[:MAX_NAME]) for name in self.strings(node.args[0], scope) or ()} or {UNKNOWN}
        root, _, name = path.partition(".")
        if (root == "builtins" and name in LITERAL_BUILTINS) or root == "math" or path in (
                "triton.cdiv", "triton.next_power_of_2"):
            return {("literal",)}
        return {UNKNOWN}

    def as_jit(self, node, scope):
        out = set()
        for value in self.value(node.args[0], scope) if node.args else ():
            if value[0] in ("function", "jit"):
                if value[0] == "function":
                    self.later_jit.add(value[1])
                out.add(("jit", value[1]))
            else:
                out.add(UNKNOWN)
        return out or {UNKNOWN}

    def of_Subscript(self, node, scope):
        out = set()
        for value in self.value(node.value, scope):
            if value[0] == "jit" or (value[0] == "function" and value[1].jit):
                out.add(("launcher", value[1]))
            elif value[0] in ("tensor", "tensors"):
                out.add(("tensor",))
            elif value[0] == "type":
                out.add(value)
            elif value[0] == "path" and not value[1].startswith("builtins."):
                out.add(("path", (value[1] + "[]")[:MAX_NAME]))
            else:
                out.add(UNKNOWN)
        return out

    def of_IfExp(self, node, scope):
        return self.value(node.body, scope) | self.value(node.orelse, scope)

    def of_BoolOp(self, node, scope):
        out = set()
        for part in node.values:
            out |= self.value(part, scope)
        return out

    def of_NamedExpr(self, node, scope):
        return self.value(node.value, scope)

    def of_Constant(self, node, scope):
        return {("literal",)}

    of_List = of_Tuple = of_Dict = of_Set = of_JoinedStr = of_Constant
    of_ListComp = of_SetComp = of_DictComp = of_Constant


    # -- texts

    def strings(self, node, scope, depth=0):
        """All texts that an expression can have, or None where one of them is not written in the source."""
        self.work += 1
        if depth > MAX_DEPTH or self.work > MAX_WORK:
            return None
        depth += 1
        if isinstance(node, ast.Constant):
            return {node.value} if isinstance(node.value, str) else None
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            sides = [self.strings(side, scope, depth) for side in (node.left, node.right)]
            return None if None in sides else bounded({a + b for a in sides[0] for b in sides[1]})
        if isinstance(node, ast.IfExp):
            return self.all_strings([(node.body, scope), (node.orelse, scope)], depth)
        if isinstance(node, ast.Subscript):
            return self.all_strings(self.items(node.value, scope, 1, depth), depth)
        if isinstance(node, ast.Name):
            return self.all_strings(self.bound(node.id, scope, depth), depth)
        return None

    def all_strings(self, expressions, depth):
        found = set()
        for node, scope in expressions or [(None, None)]:
            texts = self.strings(node, scope, depth)
            if texts is None or len(found) > MAX_STRINGS:
                return None
            found |= texts
        return bounded(found)

    def bound(self, name, scope, depth):
        """The expressions, with their scopes, to which a name is bound, or None where it may have another value."""
        while scope is not None and name not in scope.names:
            scope = scope.outer.get(name, scope.parent)
        if scope is None or scope.kind == "class":
            return None
        out = []
        for binding in scope.names[name]:
            if binding[0] == "expr":
                found = [(binding[1], binding[2])]
            elif binding[0] == "element":
                found = self.items(binding[1], binding[2], 0, depth)
            elif binding[0] == "part":
                found = self.parts(*binding[1:], depth)
            else:
                found = None
            if found is None:
                return None
            out.extend(found)
        return out

    def items(self, node, scope, of_dict, depth):
        """The expressions of a literal's elements. of_dict: 0 for the keys of a dictionary, 1 for its values. A literal that has a
        name counts only if it cannot change."""
        if depth > MAX_DEPTH:
            return None
        if isinstance(node, (ast.Tuple, ast.List, ast.Set)) and not any(isinstance(e, ast.Starred) for e in node.elts):
            return [(element, scope) for element in node.elts]
        if isinstance(node, ast.Dict) and None not in node.keys:
            return [(element, scope) for element in (node.values if of_dict else node.keys)]
        if isinstance(node, ast.Name):
            bound = self.bound(node.id, scope, depth + 1)
            fixed = bound and len(bound) == 1 and isinstance(bound[0][0], (ast.Tuple, ast.Name))
            return self.items(*bound[0], of_dict, depth + 1) if fixed else None
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("keys", "values"):
            return self.items(node.func.value, scope, int(node.func.attr == "values"), depth + 1)
        return None

    def parts(self, node, scope, i, depth):
        """The expressions of the i-th items of a literal's elements."""
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "items" and i < 2:
            return self.items(node.func.value, scope, i, depth + 1)
        out = []
        for element, where in self.items(node, scope, 0, depth) or [(None, None)]:
            if not isinstance(element, (ast.Tuple, ast.List)) or i >= len(element.elts):
                return None
            out.append((element.elts[i], where))
        return out


def bounded(texts):
    return texts if 0 < len(texts) <= MAX_STRINGS else None
