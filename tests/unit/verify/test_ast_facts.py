#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""verify/python/reference/ast_facts.py: the facts that it finds, and that no source breaks it."""

import json
import pathlib
import random
import subprocess
import sys
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
TOOL = ROOT / "verify" / "python" / "reference" / "ast_facts.py"
sys.path.insert(0, str(TOOL.parent))
sys.dont_write_bytecode = True
import ast_facts  # noqa: E402

HEAD = "import torch\nimport triton\nimport triton.language as tl\n"
N_MUTANTS = 2000


def found(source, *keys):
    """The facts of a source as tuples of some of their fields."""
    document = ast_facts.facts((HEAD + source).encode())
    assert document["error"] is None, document["error"]
    return [tuple(fact[key] for key in keys) for fact in document["facts"]]


def names(source, kind="name"):
    return {(fact[1], fact[2]) for fact in found(source, "kind", "name", "use") if fact[0] == kind}


def binding(source, name):
    document = ast_facts.facts((HEAD + source).encode())
    assert document["error"] is None, document["error"]
    return next(b for b in document["bindings"] if b["name"] == name)


class Aliases(unittest.TestCase):
    """Every way here must lead to torch.sum."""

    SOURCES = (
        "torch.sum(x)",
        "f = torch.sum\nf(x)",
        "T = torch\nT.sum(x)",
        "T = torch\nU = T\nU.sum(x)",
        "a, b = torch.sum, 1\na(x)",
        "(a, [b, c]) = (1, (2, torch.sum))\nc(x)",
        "from torch import sum as s\ns(x)",
        "import torch as t\nt.sum(x)",
        "def g():\n    import torch as t\n    return t.sum(x)",
        "def g():\n    def h():\n        return f(x)\n    f = torch.sum\n    return h",
        "def g():\n    global f\n    f = torch.sum\ndef h():\n    return f(x)",
        "def g():\n    f = 1\n    def h():\n        nonlocal f\n        f = torch.sum\n    return f(x)",
        "(f := torch.sum)(x)",
        "[f := torch.sum for _ in y]\nf(x)",
        "f = torch.sum if y else torch.empty\nf(x)",
        "f = y or torch.sum\nf(x)",
        "getattr(torch, 'sum')(x)",
        "getattr(torch, 'su' + 'm')(x)",
        "g = getattr\ng(torch, 'sum')(x)",
        "f: object = torch.sum\nf(x)",
        "class A:\n    f = torch.sum",
        "def g(f=torch.sum):\n    return f(x)",
        "@torch.sum\ndef g():\n    pass",
        "lambda: torch.sum(x)",
        "[t.sum for t in [1]] and torch.sum",
        "f'{torch.sum(x)}'",
        "torch.ｓｕｍ(x)",
        "match y:\n    case 1:\n        torch.sum(x)",
        "try:\n    pass\nexcept torch.sum:\n    pass",
        "assert torch.sum(x)",
        "with torch.sum(x) as y:\n    pass",
        "del y[torch.sum(x)]",
        "async def g():\n    await torch.sum(x)",
        "def g(y: torch.sum(x)):\n    pass",
        "y: torch.sum(x)",
        "x[torch.sum(x):1] = 2",
        "print(*[torch.sum], **{'a': torch.sum})",
    )

    def test_every_alias_is_followed(self):
        for source in self.SOURCES:
            with self.subTest(source):
                self.assertIn("torch.sum", {name for name, _ in names(source)})

    def test_a_module_that_is_handed_on_is_seen(self):
        for source in ("f(torch)", "[torch][0]", "def g(t=torch):\n    pass", "x = {'t': torch}", "class A:\n    t = torch",
                       "for t in (torch,):\n    pass", "x.y = torch", "return_ = lambda: torch", "print(t := torch, torch)", "a, *b = torch, 1", "class A:\n    (t := torch)", "match torch:\n    case t:\n        pass"):
            with self.subTest(source):
                self.assertIn(("torch", "load"), names(source))

    def test_a_plain_alias_of_a_module_is_not_an_escape(self):
        for source in ("T = torch", "a, b = torch, 1", "getattr(torch, 'float16')", "def g():\n    t = torch\n    t.empty(1)"):
            with self.subTest(source):
                self.assertNotIn(("torch", "load"), names(source))

    def test_local_names_hide_builtins(self):
        self.assertEqual(names("def f(exec):\n    exec(1)\n    max(2)\n    id = 3\n    return id", "builtin"), {("max", "call")})

    def test_module_names_may_not_be_set_yet_and_hide_no_builtin(self):
        for source in ("exec = exec\nexec('')", "def g():\n    exec('')\ng()\ndef exec(x):\n    pass",
                       "exec = 1\ndel exec\nexec('')", "class A:\n    exec = exec\n    exec('')"):
            with self.subTest(source):
                self.assertIn(("exec", "call"), names(source, "builtin"))

    def test_class_names_hide_nothing_either(self):
        self.assertIn(("torch", "load"), names("class A:\n    torch = torch\n"))
        self.assertIn("torch.sum", {name for name, _ in names("class A:\n    torch = torch\n    x = torch.sum\n")})

    def test_aliases_of_builtins_are(self):
        self.assertIn(("exec", "call"), names("e = exec\ne('')", "builtin"))


class Attributes(unittest.TestCase):

    def test_methods_on_unknown_objects_with_what_is_known(self):
        cases = (
            ("def f(x):\n    x.sum()", ("sum", "call", "param:x")),
            ("def f(x):\n    x = x.contiguous().view(-1)\n    x.sum()", ("sum", "call", "param:x")),
            ("def f(x: torch.Tensor):\n    x.sum()", ("sum", "call", "param:x")),
            ("y = torch.empty(3)\ny.sum()", ("sum", "call", "tensor")),
            ("a, b = torch.broadcast_tensors(x, y)\nb.sum()", ("sum", "call", "tensor")),
            ("torch.finfo(t).max", ("max", "load", "info")),
            ("i = torch.iinfo(t)\ni.max", ("max", "load", "info")),
            ("class A:\n    def sum(self):\n        self.sum()", ("sum", "call", "self")),
            ("class A:\n    def f(self):\n        self.sum = 1\n        self.sum", ("sum", "load", "self")),
            ("class A:\n    def f(t):\n        t.sum()\nA.f(x)", ("sum", "call", "unknown")),
            ("class A:\n    sum = 1\nA().sum", ("sum", "load", "instance")),
            ("class A:\n    pass\nA().sum()", ("sum", "call", "unknown")),
            (self.MADE + "def f(x):\n    make(x).sum", ("sum", "load", "instance")),
            (self.MADE + "def f(x):\n    a = make(x)\n    a.sum()", ("sum", "call", "instance")),
            ("import functools\nclass A:\n    sum = 1\n@functools.lru_cache(9)\ndef make(x):\n    return A()\nmake(1).sum",
             ("sum", "load", "instance")),
            ("class A:\n    sum = 1\ndef make(x):\n    return A() if x else make(1)\nmake(0).sum", ("sum", "load", "instance")),
            ("@wrap\n" + self.MADE + "make(x).sum", ("sum", "load", "instance")),
            (self.MADE.replace("def", "@wrap\ndef") + "make(x).sum", ("sum", "load", "unknown")),
            (self.MADE + "    return x\nmake(x).sum", ("sum", "load", "unknown")),
            (self.MADE + "    yield 1\nmake(x).sum", ("sum", "load", "unknown")),
            (self.MADE.replace("def", "async def") + "make(x).sum", ("sum", "load", "unknown")),
            (self.MADE + "make = other\nmake(x).sum", ("sum", "load", "unknown")),
            (self.USED + "def f(x):\n    use(x, A())", ("sum", "load", "instance")),
            (self.USED + "def f(x):\n    use(a=A(), x=x)\nuse(1, A())", ("sum", "load", "instance")),
            (self.USED + "def f(x):\n    use(x, A())\n    use(A(), x)", ("sum", "load", "unknown")),
            (self.USED, ("sum", "load", "param:a")),
            (self.USED + "use(x)", ("sum", "load", "param:a")),
            (self.USED + "use(*y)", ("sum", "load", "param:a")),
            (self.USED + "use(1, **y)", ("sum", "load", "param:a")),
            (self.USED + "use(1, A())\nother(use)", ("sum", "load", "param:a")),
            ("class A:\n    sum = 1\n@wrap\ndef use(x, a=None):\n    a.sum\nuse(1, A())", ("sum", "load", "param:a")),
            ("max(x, y).sum()", ("sum", "call", "unknown")),
            ("s = set()\ns.add(1)", ("add", "call", "literal")),
            ("g().sum", ("sum", "load", "unknown")),
            ("x.y.z = 1", ("z", "store", "unknown")),
            ("del x.y", ("y", "del", "unknown")),
            ("setattr(x, 'y', 1)", ("y", "store", "unknown")),
            ("x.__class__ = 1", ("__class__", "store", "unknown")),
            ("torch.x.__dict__", ("__dict__", "load", "module:torch.x")),
        )
        for source, expected in cases:
            with self.subTest(source):
                self.assertIn(("attribute",) + expected, found(source, "kind", "name", "use", "on"))

    MADE = "class A:\n    sum = 1\ndef make(x):\n    if x: return A()\n"
    USED = "class A:\n    sum = 1\ndef use(x, a=None):\n    a.sum\n"
    BOX = "class A:\n    def sum(self):\n        return self.sum()\n    def go(self):\n        self.data = 1\n"

    def test_self_is_ones_own_object_unless_something_else_may_be_passed_for_it(self):
        for rest in ("A().go()", "def f(x: A) -> A:\n    return isinstance(x, A)", "A.TABLE", "type(x) is int", "x.__class__ == 1",
                     "torch.nn.A", "T = 1\nimport torch.nn as t\nt.A", "import x\nx.y.A",
                     "type(x).__name__", "class B:\n    @property\n    def go(self):\n        pass", ""):
            with self.subTest(rest):
                facts = found(self.BOX + rest, "kind", "name", "use", "on", "fn")
                self.assertIn(("attribute", "sum", "call", "self", "A.sum"), facts)
                self.assertIn(("attribute", "data", "store", "self", "A.go"), facts)
        for rest in ("A.sum(x)", "A.go", "B = A", "f(A)", "[A]", "getattr(A, 'sum')(x)", "class B(A):\n    pass", "type(a).sum(x)",
                     "t = type", "a.__class__.sum(x)", "m.A", "def f(torch):\n    torch.A",
                     "x().A", "class B:\n    pass\nB.A", "def f(c=A):\n    pass", "match x:\n    case A():\n        pass",
                     "x: Optional[A]", "type(x)", "def isinstance(x, c):\n    c.sum(x)\nisinstance(x, A)",
                     "def f(super):\n    super(A)"):
            with self.subTest(rest):
                facts = found(self.BOX + rest, "kind", "name", "use", "on", "fn")
                self.assertIn(("attribute", "sum", "call", "unknown", "A.sum"), facts)
                self.assertIn(("attribute", "data", "store", "unknown", "A.go"), facts)
        for source in ("@deco\n" + self.BOX, self.BOX + "    table = [sum]", self.BOX + "    @deco\n    def x(self):\n        pass",
                       self.BOX + "    @classmethod\n    def x(cls):\n        pass",
                       "def override(f):\n    RAW.append(f)\n" + self.BOX + "    @override\n    def x(self):\n        pass",
                       "from functools import partial as cache\n" + self.BOX + "    @cache\n    def x(self):\n        pass",
                       "s = staticmethod\n" + self.BOX + "    @s\n    def x(self):\n        pass",
                       self.BOX + "    @evil.setter\n    def x(self):\n        pass",
                       "from functools import partial as staticmethod\n" + self.BOX +
                       "    @staticmethod\n    def x(s):\n        pass",
                       "from functools import partial as dataclass\n@dataclass\n" + self.BOX,
                       "class A:\n    @staticmethod\n    def sum(self):\n        return self.sum()"):
            with self.subTest(source):
                self.assertIn(("attribute", "sum", "call", "unknown", "A.sum"), found(source, "kind", "name", "use", "on", "fn"))
        plain = ("import dataclasses\n@dataclasses.dataclass\n" + self.BOX + "    @property\n    def x(self):\n        pass\n"
                 "    @x.setter\n    def x(self, y):\n        pass\n    @staticmethod\n    def z(y):\n        pass\n")
        self.assertIn(("attribute", "sum", "call", "self"), found(plain, "kind", "name", "use", "on"))

    def test_init_gets_a_new_object_unless_it_is_called_by_name(self):
        source = "class A:\n    def __init__(self):\n        self.data = 1\n"
        for rest, on in (("", "self"), ("A.x", "self"), ("f(A)", "unknown"), ("getattr(A, '__init__')(x)", "unknown"),
                         ("class B(A):\n    def __init__(self):\n        super().__init__()", "self"),
                         ("A.__init__(x)", "unknown"), ("a.__init__", "unknown"), ("type(a)", "unknown")):
            with self.subTest(rest):
                self.assertIn(("attribute", "data", "store", on, "A.__init__"),
                              found(source + rest, "kind", "name", "use", "on", "fn"))

    def test_contexts_of_autograd_are_its_own(self):
        source = "class F(%s):\n    @staticmethod\n    def forward(ctx, x):\n        ctx.shape = 1\nF.apply(y)\n"
        base = "torch.autograd.Function"
        for text, on in ((source % base, "self"), (source % base + "F.forward(x, x)", "unknown"),
                         (source % base + "F().forward(x, x)", "unknown"), (source % "Function", "unknown"),
                         ("class Function:\n    pass\n" + source % "Function", "unknown"),
                         (source % base + "class G(F):\n    pass", "unknown")):
            with self.subTest(text):
                self.assertIn(("attribute", "shape", "store", on), found(text, "kind", "name", "use", "on"))

    def test_functions_have_no_attributes_of_their_own(self):
        self.assertIn(("attribute", "norm", "call", "unknown"),
                      found("import functools\n@functools.wraps(torch.Tensor)\ndef f():\n    pass\nf.norm(x)", "kind", "name",
                            "use", "on"))

    def test_wraps_that_is_told_what_to_copy_is_a_computed_name(self):
        for call in ("wraps(f, assigned=('sum',))", "wraps(f, updated=())", "wraps(f, ('sum',))", "wraps(*f)", "wraps(**f)"):
            with self.subTest(call):
                self.assertIn(("dynamic", "functools.wraps"), found("from functools import *\nimport functools\nfunctools." + call,
                                                                    "kind", "name"))
        for call in ("wraps(f)", "wraps(wrapped=f)"):
            self.assertNotIn("dynamic", [f[0] for f in found("import functools\nfunctools." + call, "kind")])

    def test_every_way_to_set_a_dunder_name_is_seen(self):
        for source in ("__name__ = 1", "import x as __name__", "from x import __name__", "def __name__():\n    pass",
                       "class __name__:\n    pass", "for __name__ in x:\n    pass", "with x as __name__:\n    pass",
                       "try:\n    pass\nexcept E as __name__:\n    pass", "(__name__ := 1)", "__name__ += 1",
                       "def f():\n    global __name__\n    __name__ = 1", "match x:\n    case __name__:\n        pass",
                       "match x:\n    case [*__name__]:\n        pass", "match x:\n    case {**__name__}:\n        pass",
                       "a, [__name__] = x", "__name__: int = 1"):
            with self.subTest(source):
                self.assertIn(("__name__", "store"), names(source, "dunder"))

    def test_stores_to_foreign_names(self):
        for source, expected in (("torch.x = 1", ("torch.x", "store")), ("setattr(torch, 'x', 1)", ("torch.x", "store")),
                                 ("del torch.x", ("torch.x", "del")), ("T = torch\nT.x = 1", ("torch.x", "store")),
                                 ("torch.x[1] = 2", ("torch.x", "store_item")), ("torch.x += 1", ("torch.x", "store")),
                                 ("for torch.x in y:\n    pass", ("torch.x", "store")),
                                 ("with y as torch.x:\n    pass", ("torch.x", "store")),
                                 ("a, torch.x = y", ("torch.x", "store"))):
            with self.subTest(source):
                self.assertIn(expected, names(source))

    def test_class_patterns_read_attributes(self):
        facts = found("match x:\n    case torch.Tensor(tolist=read, data=A(numpy=f)):\n        read()", "kind", "name", "use")
        for name in ("tolist", "data", "numpy"):
            self.assertIn(("attribute", name, "load"), facts)
        self.assertIn(("name", "torch.Tensor", "load"), found(
            "import torch\nmatch x:\n    case torch.Tensor():\n        pass", "kind", "name", "use"))

    def test_names_that_nothing_binds(self):
        def undefined(source):
            return [f[1] for f in found(source, "kind", "name") if f[0] == "undefined"]

        self.assertEqual(undefined("np.sum(1)\ndef f(a, *b, c=1, **d):\n    return inspect"), ["np", "inspect"])
        for source in ("for i in range(3):\n    pass\ni", "with open(1) as (a, b):\n    a, b", "[k for k in ()]", "(w := 1)\nw",
                       "try:\n    pass\nexcept OSError as e:\n    e", "def f():\n    global g\n    g = 1\ng",
                       "match [1]:\n    case [h, *t]:\n        h, t", "__name__", "class A:\n    x = 1\n    y = x",
                       "lambda p, *q: (p, q)", "import a.b\na", "from a import b as c\nc", "del_ = 1\ndel del_"):
            with self.subTest(source):
                self.assertEqual(undefined(source), [])

    def test_computed_attribute_names(self):
        self.assertIn(("dynamic", "getattr", "module:torch"), found("getattr(torch, x)", "kind", "name", "on"))
        self.assertIn(("dynamic", "setattr", "unknown"), found("setattr(y, x, 1)", "kind", "name", "on"))
        for source in ("getattr(tl, x)", "getattr(tl, *x)", "getattr(tl, x, None)"):
            self.assertIn(("dynamic", "getattr", "module:triton.language"), found(source, "kind", "name", "on"))
            self.assertNotIn(("triton.language", "load"), names(source))
        self.assertIn(("torch", "load"), names("getattr(*[torch, x])"))
        self.assertIn(("dynamic", "getattr", "module:torch"),
                      found("t = torch if y else tl\ngetattr(t, x)", "kind", "name", "on"))

    def test_names_that_the_source_has_are_not_computed(self):
        for source in ("n = 'sum'\ngetattr(torch, n)", "for n in ('sum', 'add'):\n    getattr(torch, n)", "getattr(torch, 'a' if x else 'sum')",
                       "N = ('sum',)\n[getattr(torch, n) for n in N]", "for n, t in [('sum', 1)]:\n    getattr(torch, n)",
                       "{getattr(torch, n): t for n, t in {'sum': 1}.items()}", "getattr(torch, {'x': 'sum'}[x])",
                       "for n in {'sum': 1}.keys():\n    getattr(torch, n)", "def f():\n    n = 's'\n    return getattr(torch, n + 'um')",
                       "import importlib\nimportlib.import_module('torch').sum"):
            with self.subTest(source):
                self.assertIn("torch.sum", {name for name, _ in names(source)})
                self.assertNotIn("dynamic", [fact[0] for fact in found(source, "kind")])
        for source in ("n = 'sum'\nn += x\ngetattr(torch, n)", "for n in ('sum', x):\n    getattr(torch, n)", "N = ['a']\ngetattr(torch, N[0])",
                       "def f(n='sum'):\n    getattr(torch, n)", "n = n\ngetattr(torch, n)", "for n in ():\n    getattr(torch, n)",
                       "for n in ('a', *x):\n    getattr(torch, n)", "D = {'a': 'b'}\ngetattr(torch, D['a'])", "getattr(torch, 3)",
                       "for a, *n in [('a', 'b')]:\n    getattr(torch, n)", "class A:\n    n = 'a'\n    getattr(torch, n)",
                       "for a, n in [('a',)]:\n    getattr(torch, n)", "for a, n in x:\n    getattr(torch, n)"):
            with self.subTest(source):
                self.assertIn(("dynamic", "getattr", "module:torch"), found(source, "kind", "name", "on"))
        self.assertIn(("dynamic", "importlib.import_module"),
                      found("import importlib\nimportlib.import_module(x)", "kind", "name"))

    def test_types_of_tensors_are_known(self):
        for source in ("getattr(type(x), n)", "getattr(x.__class__, n)", "t = type(x)\n    getattr(t, n)", "getattr(type(x).__mro__[1], n)",
                       "getattr(type(x).mro()[0], n)", "getattr(vars(type(x)), n)"):
            with self.subTest(source):
                self.assertIn(("dynamic", "getattr", "type"), found("def f(x, n):\n    %s\n" % source, "kind", "name", "on"))
        self.assertIn(("dynamic", "vars", "type"), found("def f(x):\n    vars(type(x))['a']\n", "kind", "name", "on"))
        self.assertIn(("dynamic", "getattr", "unknown"), found("getattr(type(3), n)", "kind", "name", "on"))

    def test_operators_where_an_operand_is_a_tensor(self):
        self.assertIn(("operator", "@", "unknown"), found("x @ y", "kind", "name", "on"))
        self.assertIn(("operator", "@", "unknown"), found("x @= y", "kind", "name", "on"))
        self.assertIn(("operator", "+", "tensor"), found("y = torch.empty(1)\ny + 1", "kind", "name", "on"))
        self.assertIn(("operator", "-", "param:x"), found("def f(x):\n    return -x", "kind", "name", "on"))
        self.assertEqual([f for f in found("n = 7\nn // 2 + len(x)", "kind") if f[0] == "operator"], [])

    def test_classes_and_hooks(self):
        self.assertIn(("class", "A", "torch.Tensor,?"), found("class A(torch.Tensor, f()):\n    pass", "kind", "name", "on"))
        self.assertIn(("class", "A", "metaclass"), found("class A(metaclass=M):\n    pass", "kind", "name", "on"))
        self.assertIn(("class", "type()", "torch.Tensor"), found("type('A', (torch.Tensor,), {})", "kind", "name", "on"))
        self.assertIn(("def", "__getattr__"), found("def __getattr__(n):\n    pass", "kind", "name"))


class Kernels(unittest.TestCase):
    KERNEL = "@triton.jit\ndef k(p, n):\n    tl.store(p, n)\n"

    def kernels(self, source):
        document = ast_facts.facts((HEAD + source).encode())
        return [kernel["name"] for kernel in document["kernels"]]

    def test_jit_functions_are_found(self):
        for source in (self.KERNEL, "J = triton.jit\n@J\ndef k():\n    pass", "from triton import jit\n@jit\ndef k():\n    pass",
                       "@triton.jit(noinline=True)\ndef k():\n    pass", "def k():\n    pass\nkk = triton.jit(k)",
                       "@triton.autotune(configs=[], key=[])\n@triton.heuristics({})\n@triton.jit\ndef k():\n    pass",
                       "def k():\n    pass\nq = triton.autotune(configs=[], key=[])(triton.jit(k))"):
            with self.subTest(source):
                self.assertEqual(self.kernels(source), ["k"])
        self.assertEqual(self.kernels("def f():\n    @triton.jit\n    def k():\n        pass\n"), ["f.k"])
        self.assertEqual(self.kernels("def k():\n    pass"), [])

    def test_bodies_of_kernels_are_apart_from_host_code(self):
        facts = found("@triton.jit\ndef k(x: tl.constexpr = torch.a):\n    y = tl.load(x)\n    return y.sum() + torch.b\n",
                      "kind", "name", "ctx")
        self.assertIn(("name", "torch.a", "host"), facts)
        self.assertIn(("name", "torch.b", "kernel"), facts)
        self.assertIn(("name", "triton.language.constexpr", "annotation"), facts)
        self.assertIn(("attribute", "sum", "kernel"), facts)

    def test_launches_calls_and_insides(self):
        source = self.KERNEL + "def h(x):\n    pass\n@triton.jit\ndef q():\n    h(1)\n    k(1, 2)\n"
        self.assertIn(("kernel_call", "h"), found(source, "kind", "name"))
        self.assertNotIn(("kernel_call", "k"), found(source, "kind", "name"))
        self.assertIn(("launch", "k"), found(self.KERNEL + "k[(1,)](x, 1)", "kind", "name"))
        self.assertIn(("launch", "k"), found(self.KERNEL + "go = k[(1,)]\ngo(x, 1)", "kind", "name"))
        self.assertIn(("jit_call", "k"), found(self.KERNEL + "k(x, 1)", "kind", "name"))
        self.assertIn(("jit_attr", "fn"), found(self.KERNEL + "k.fn(x, 1)", "kind", "name"))
        for syntax in ("def", "lambda", "class", "try", "import", "global"):
            body = {"def": "def f(): pass", "lambda": "lambda: 1", "class": "class A: pass", "try": "try: pass\n    except A: pass",
                    "import": "import torch", "global": "global g"}[syntax]
            self.assertIn(("kernel_syntax", syntax), found("@triton.jit\ndef k():\n    %s\n" % body, "kind", "name"))


class Reach(unittest.TestCase):

    def test_references_pass_through_tables_and_helpers(self):
        source = Kernels.KERNEL + "TABLE = {'a': k}\ndef helper():\n    return TABLE\ndef entry():\n    helper()\n"
        self.assertEqual(binding(source, "entry")["refs"], ["helper"])
        self.assertEqual(binding(source, "helper")["refs"], ["TABLE"])
        self.assertEqual(binding(source, "TABLE")["refs"], ["k"])
        self.assertTrue(binding(source, "k")["jit"])

    def test_references_pass_through_registries(self):
        register = "R = {}\ndef register(n):\n    def add(f):\n        R[n] = f\n        return f\n    return add\n"
        for source in (register + "@register('a')\ndef go():\n    k[(1,)]()\n", "R = {}\ndef go():\n    k[(1,)]()\nR['a'] = go\n"):
            with self.subTest(source):
                source = Kernels.KERNEL + source + "def entry():\n    R['a']()\n"
                self.assertEqual(binding(source, "entry")["refs"], ["R"])
                self.assertEqual(binding(source, "R")["refs"], ["go"])
                self.assertIn("k", binding(source, "go")["refs"])

    def test_references_pass_through_tables_of_torch_and_python(self):
        launch = Kernels.KERNEL + "def go():\n    k[(1,)]()\n"
        for source, call in (("torch.library.define('mine::op', '() -> ()')\nlib.impl('op', go)\n", "torch.ops.mine.op()"),
                             ("@torch.library.impl('mine::op', 'cpu')\ndef op():\n    go()\n", "torch.ops.mine.op()"),
                             ("", "globals()['g' + 'o']()"), ("class A:\n    run = staticmethod(go)\n", "A.run()")):
            with self.subTest(call):
                found, open_ = set(), ["entry"]
                while open_:
                    name = open_.pop()
                    refs = binding(launch + source + "def entry():\n    %s\n" % call, name)["refs"]
                    open_ += [ref for ref in refs if ref not in found and ref not in ("torch", "triton", "tl", "lib")]
                    found.update(refs)
                self.assertIn("k", found)
        self.assertNotIn("go", binding(launch + "lib.impl('op', go)\ndef entry():\n    torch.ops.aten.op()\n", "entry")["refs"])

    def test_gradients_that_nothing_asks_for_yield_nothing(self):
        function = "class F(torch.autograd.Function):\n    @staticmethod\n    def backward(ctx, g):\n        torch.a\n"
        self.assertNotIn("torch.a", {n for n, _ in names(function)})
        self.assertNotIn("torch.a", {n for n, _ in names(function + "if __name__ == '__main__':\n    y.backward()\n")})
        for source in (function + "y.backward()\n", function + "getattr(y, 'backward')()\n",
                       function.replace("torch.autograd.Function", "B"), function.replace("backward", "forward")):
            with self.subTest(source):
                self.assertIn("torch.a", {n for n, _ in names(source)})

    def test_what_runs_at_import_is_mentioned_by_the_module(self):
        for base, method in (("torch.nn.Module", "def __init__(self):\n        pass"), ("torch.autograd.Function", "@staticmethod\n"
                                                                                      "    def forward(ctx):\n        pass")):
            document = ast_facts.facts((HEAD + "class A(%s):\n    %s\n" % (base, method)).encode())
            self.assertNotIn("A", document["module_refs"])
        for source, name in (("def f():\n    pass\nf()", "f"), ("def f():\n    pass\nX = [f]", "f"), ("@d\ndef f():\n    pass", "f"),
                             ("def f():\n    pass\nclass A:\n    x = f()", "f"), ("class A(B):\n    pass", "A"),
                             ("def __getattr__(n):\n    pass", "__getattr__"), ("def f():\n    pass\ndef g(x=f):\n    pass", "f")):
            with self.subTest(source):
                document = ast_facts.facts((HEAD + source).encode())
                self.assertIn(name, document["module_refs"])

    def test_facts_belong_to_the_function_they_are_in(self):
        facts = found("torch.a\ndef f(x=torch.b):\n    torch.c\n    def g():\n        torch.d\nclass A:\n    torch.e\n"
                      "    def m(self):\n        torch.f\n", "name", "owner", "fn")
        for fact in (("torch.a", "", ""), ("torch.b", "", ""), ("torch.c", "f", "f"), ("torch.d", "f", "f.g"), ("torch.e", "", ""),
                     ("torch.f", "A", "A.m")):
            self.assertIn(fact, facts)

    def test_code_at_import_has_the_names_that_it_makes(self):
        for source, into in (("a = torch.x", ["a"]), ("a, b = 1, torch.x", ["a", "b"]), ("a = []\na.append(torch.x)", ["a"]),
                             ("a = {}\na['b'] = torch.x", ["a"]), ("a = 1\na.b = torch.x", ["a"]), ("if torch.x:\n    a = 1", ["a"]),
                             ("if torch.x:\n    def a():\n        pass", ["a"]), ("def a(b=torch.x):\n    pass", ["a"]),
                             ("class a:\n    b = torch.x", ["a"]), ("@g(torch.x)\ndef a():\n    pass", ["a"]),
                             ("for a in torch.x:\n    b = 1", ["a", "b"]), ("a = lambda: torch.x", ["a"]), ("print(torch.x)", None),
                             ("if torch.x:\n    print(1)", None), ("def a():\n    torch.x", None)):
            with self.subTest(source):
                document = ast_facts.facts((HEAD + source).encode())
                self.assertEqual([fact.get("into") for fact in document["facts"] if fact["name"] == "torch.x"], [into])

    def test_the_main_guard_yields_nothing_and_nothing_else_does(self):
        self.assertNotIn("torch.a", {n for n, _ in names("if __name__ == '__main__':\n    torch.a\n")})
        self.assertNotIn("torch.a", {n for n, _ in names("if '__main__' == __name__:\n    torch.a\n")})
        for guard in ("if __name__ != '__main__'", "if __name__ == '__main__' or 1", "if __name__ == 'kernel'", "if 1",
                      "while __name__ == '__main__'"):
            with self.subTest(guard):
                self.assertIn("torch.a", {n for n, _ in names("%s:\n    torch.a\n" % guard)})
        self.assertIn("torch.b", {n for n, _ in names("if __name__ == '__main__':\n    pass\nelse:\n    torch.b\n")})
        inside = "def f():\n    if __name__ == '__main__':\n        torch.a\n"
        self.assertIn("torch.a", {n for n, _ in names(inside)})

    def test_parameters_and_kinds_of_entries(self):
        entry = binding("def f(a, /, b, c=1, *d, e, g=2, **h):\n    yield\n", "f")
        self.assertEqual([(p["name"], p["kind"], p["default"]) for p in entry["params"]],
                         [("a", "positional_only", False), ("b", "positional", False), ("c", "positional", True),
                          ("d", "var_positional", True), ("e", "keyword", False), ("g", "keyword", True),
                          ("h", "var_keyword", True)])
        self.assertTrue(entry["is_generator"])
        self.assertTrue(binding("async def f():\n    pass", "f")["is_async"])
        self.assertEqual(binding("def f(a):\n    pass\ng = f", "g")["params"][0]["name"], "a")
        self.assertEqual(binding("class f:\n    pass", "f")["kind"], "class")
        self.assertEqual(binding("from x import f", "f")["kind"], "import")


    def test_what_a_name_stands_for_once_the_file_is_imported(self):
        jit, plain = "@triton.jit\ndef f(p):\n    pass\n", "def f(x, n):\n    pass\n"
        for source, settled, is_jit in ((jit + "k = f\n" + plain, True, False), (plain + jit, True, True), (plain, True, False),
                                        (jit + "if x:\n    def f(x):\n        pass\n", False, True),
                                        ("try:\n    def f(x):\n        pass\nexcept E:\n    def f():\n        pass\n", False,
                                         False),
                                        (plain + "f = deco(f)\n", False, False), ("f = 1\n" + plain, True, False),
                                        (jit + plain + "def g():\n    global f\n    f = 1\n", False, True),
                                        (jit + plain + "class A:\n    global f\n    f = 1\n", False, True),
                                        ("def g():\n    global f\n    f = 1\n" + jit + plain + "g()\n", False, True),
                                        (jit + plain + "(f := 1)\n", False, True),
                                        (jit + plain + "[f := 1 for i in x]\n", False, True),
                                        (plain + "from torch import f\n", False, False), (plain + "import f.g\n", False, False),
                                        (plain + "for f in x:\n    pass\n", False, False)):
            with self.subTest(source):
                entry = binding(source, "f")
                self.assertEqual((entry["settled"], entry["jit"]), (settled, is_jit))
                self.assertEqual(entry["kind"] == "function", settled or "import" not in source and "=" not in source
                                 and "for" not in source)
        both = "if x:\n    async def f():\n        pass\nelse:\n    def f():\n        yield\n"
        self.assertEqual((binding(both, "f")["is_async"], binding(both, "f")["is_generator"]), (False, False))

    def test_a_kernel_whose_name_a_plain_function_takes_over_is_not_called(self):
        jit, plain = "@triton.jit\ndef f(p):\n    pass\n", "def f(x, n):\n    pass\n"
        calls = "def g(x):\n    f(x)\n"
        for source, called in ((jit + plain + calls, False), (jit + calls + plain, False), (plain + jit + calls, True),
                               (jit + "f(1)\n" + plain, True), (jit + "if x:\n    def f():\n        pass\n" + calls, True),
                               (jit + plain + "def g(x):\n    f = triton.jit(x)\n", False)):
            with self.subTest(source):
                self.assertEqual(("jit_call", "f") in found(source, "kind", "name"), called)


class Unused(unittest.TestCase):
    """Unused imports."""

    def uses(self, source):
        return {(kind, name): use for kind, name, use in found(source, "kind", "name", "use")}

    def test_what_nothing_mentions_is_unused(self):
        for source in ("import os", "import os as system", "import os.path", "def f():\n    import os", "from os import environ",
                       "from os import environ as e", "import os\nif __name__ == '__main__':\n    os.getcwd()",
                       "import os\n'this is os'\n# os\ndef f(oss):\n    return oss.oss"):
            with self.subTest(source):
                uses = self.uses(source)
                self.assertEqual({use for (kind, name), use in uses.items()
                                  if name.startswith("os") and kind in ("import", "name")}, {"unused"})

    def test_whatever_might_be_a_mention_is_one(self):
        for rest in ("os", "os.environ", "def f():\n    return os", "x.os", "x = 'os'", "def f():\n    global os", "os = 1",
                     "def os():\n    pass", "class os:\n    pass", "import os", "from x import os", "for os in x:\n    pass",
                     "match x:\n    case C(os=y):\n        pass", "try:\n    pass\nexcept E as os:\n    pass",
                     "if __name__ == '__main__' or 1:\n    os", "def f(x: os):\n    pass", "del os", "f'{os}'",
                     "if __name__ == '__main__':\n    pass\nelse:\n    os"):
            with self.subTest(rest):
                self.assertEqual(self.uses("import os\n" + rest).get(("import", "os")), "import")

    def test_what_is_found_in_other_ways_than_by_name_is_used(self):
        self.assertEqual(self.uses("class A:\n    import os")[("import", "os")], "import")
        self.assertEqual(self.uses("class A:\n    from os import environ")[("name", "os.environ")], "import")
        self.assertEqual(self.uses("def f():\n    global os\n    import os")[("import", "os")], "import")
        self.assertEqual(self.uses("from os import *")[("import", "os")], "star")
        self.assertEqual(self.uses("from .os import x")[("import", ".os")], "relative")


class Silence(unittest.TestCase):

    def test_comments_and_docstrings_are_not_judged(self):
        source = '"""torch.sum(x); exec("1")"""\n# torch.sum eval(1)\ndef f():\n    """import os"""\n    return "__import__"\n'
        judged = [fact for fact in found(source, "kind", "name") if fact[0] not in ("import", "string")]
        self.assertEqual(judged, [])


class Bounds(unittest.TestCase):

    def error(self, source):
        started = time.process_time()
        document = ast_facts.facts(source)
        self.assertLess(time.process_time() - started, 20)
        return (document["error"] or {}).get("kind")

    def test_sources_that_cannot_be_read(self):
        self.assertEqual(self.error(b"def f(:\n"), "syntax")
        self.assertEqual(self.error(b"x = '\xff'"), "encoding")
        self.assertEqual(self.error(b"a\0b"), "syntax")
        self.assertEqual(self.error(b"#" * (256 * 1024 + 1)), "limit")
        self.assertEqual(self.error(b"x = " + b"(" * 5000 + b")" * 5000), "syntax")
        self.assertEqual(self.error(b"x = " + b"-" * 50000 + b"1"), "limit")
        self.assertEqual(self.error(b"x = " + b"a." * 20000 + b"b"), "limit")
        self.assertEqual(self.error(b"x = " + b"1+" * 30000 + b"1"), "limit")
        self.assertEqual(self.error(b"x = [" + b"0," * 100000 + b"]"), "limit")

    def test_aliases_that_explode_end(self):
        self.assertEqual(self.error(b"import torch\n" + b"".join(b"x = torch.a%d\n" % i for i in range(100))), "limit")
        chain = b"import torch\n" + b"".join(b"a%d = a%d\n" % (i, i + 1) for i in range(300)) + b"a300 = torch\na0.sum\n"
        self.assertEqual(self.error(chain), "limit")
        nested = b"import triton\nj = triton.jit\nj = triton.runtime.jit\nj = triton.autotune(1)\n" + b"j(" * 60 + b"f" + b")" * 60
        self.assertIn(self.error(nested), ("limit", None))
        self.assertEqual(self.error(b"a = b\nb = a\nc = c\nd = d.d\n"), None)

    def test_the_program_prints_one_document(self):
        done = subprocess.run([sys.executable, "-I", str(TOOL)], input=b"import torch\n", capture_output=True, timeout=300)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertEqual(json.loads(done.stdout)["schema"], "kgb.ast_facts/1")


class Mutants(unittest.TestCase):

    def test_random_mutations_of_real_kernels_never_break_it(self):
        sources = [path.read_bytes() for folder in ("honest", "redteam")
                   for path in sorted((ROOT / "tests" / folder).glob("*/*.py"))] + [TOOL.read_bytes()]
        self.assertGreater(len(sources), 20)
        rng = random.Random(20240601)
        parsed = 0
        for number in range(N_MUTANTS):
            source = self.mutate(rng, sources)
            try:
                document = ast_facts.facts(source)
                text = json.dumps(document)
            except BaseException as error:
                self.fail("mutant %d: %r\n%r" % (number, error, source))
            self.assertEqual(document["schema"], "kgb.ast_facts/1")
            if document["error"] is None:
                parsed += 1
                if number % 20 == 0:
                    self.assertEqual(json.dumps(ast_facts.facts(source)), text, "not deterministic")
        self.assertGreater(parsed, N_MUTANTS // 10)

    @staticmethod
    def mutate(rng, sources):
        lines = rng.choice(sources).splitlines(True)
        for _ in range(rng.randint(1, 4)):
            kind = rng.randrange(6)
            at = rng.randrange(len(lines)) if lines else 0
            if kind == 0 and lines:
                del lines[at]
            elif kind == 1:
                other = rng.choice(sources).splitlines(True)
                lines.insert(at, rng.choice(other))
            elif kind == 2 and lines:
                lines[at] = lines[at].replace(rng.choice((b"x", b"self", b"torch", b"(", b"=", b".")),
                                              rng.choice((b"torch", b"*", b"lambda: x", b" := ", b"[x]", b"await x", b"")))
            elif kind == 3 and lines:
                other = rng.randrange(len(lines))
                lines[at], lines[other] = lines[other], lines[at]
            elif kind == 4 and lines:
                lines[at] = b"    " + lines[at]
            elif lines:
                line = bytearray(lines[at])
                line[rng.randrange(len(line))] = rng.randrange(256)
                lines[at] = bytes(line)
        return b"".join(lines)


class Alignment(unittest.TestCase):
    def test_only_a_few_bits_of_an_address_may_be_asked_for(self):
        for source, wanted in (("x.data_ptr() % 16", False), ("x.data_ptr() % 128 == 0", False), ("x.data_ptr()", True),
                               ("x.data_ptr() % 256", True), ("x.data_ptr() % n", True), ("x.data_ptr() // 16", True),
                               ("x.data_ptr() % 16.0", True), ("x.data_ptr % 16", True), ("16 % x.data_ptr()", True),
                               ("f(torch.sum(x)).data_ptr() % 16", False)):
            with self.subTest(source):
                self.assertEqual(any(name == "data_ptr" for name, _ in names("def g(x, n):\n    return %s" % source, "attribute")),
                                 wanted)
        self.assertIn(("torch.sum", "call"), names("torch.sum(x).data_ptr() % 16"))


def dictionary(source, is_border=None):
    """The numbers of a source, all or only (no) borders."""
    document = ast_facts.facts(source.encode())
    assert document["error"] is None, document["error"]
    return [n["value"] for n in document["numbers"] if is_border is None or n["is_border"] == is_border]


class Numbers(unittest.TestCase):
    def test_constant_arithmetic_counts_as_its_result(self):
        for source, wanted in (
                ("n = 12_345", ["12345"]), ("n = 0x10 + 0b11", ["19"]), ("n = -5", ["-5"]), ("n = +0.25", ["0.25"]),
                ("n = 64 * 1024", ["65536"]), ("n = 1 << 20", ["1048576"]), ("n = 2 ** 31 - 1", ["2147483647"]),
                ("n = (7 // 2) | 8", ["11"]), ("n = 1e30", ["1e+30"]), ("n = 1 / 8", ["0.125"]), ("n = -2 ** 63", [str(-2**63)]),
                ("n = 2 ** 63", ["9.223372036854776e+18"]), ("n = 10 ** 400", ["10", "400"]), ("n = 2 ** 10 ** 10", ["2", "10000000000"]),
                ("n = 1 << 2 << 100000", ["4", "100000"]), ("n = 1 // 0", ["0", "1"]), ("n = 1e308 * 10", ["1e+308", "10"]),
                ("n = (-8) ** 0.5", ["-8", "0.5"]), ("n = 3j", []), ("n = True", []), ("n = 5 * m + 3", ["5", "3"])):
            with self.subTest(source):
                self.assertEqual(dictionary(source), wanted)

    def test_text_has_no_numbers(self):
        self.assertEqual(dictionary('"""Sizes of 11."""\n# at most 12\nx = "13"\ny = f"{x} 14"\n'
                                    'if __name__ == "__main__":\n    f(15)\nelse:\n    f(16)'), ["16"])

    def test_what_the_program_compares_with_comes_first(self):
        source = ("LIMIT = 70000\ndef f(x, n, block=128, few=9):\n    g = n + 3\n    if x.dim() == 5 and n > LIMIT or n % 77 == 0:\n"
                  "        return n in (21, 22) or few < n or {31: 1}\n    n //= 512\n    h(n, 8)\n    return g")
        self.assertEqual(dictionary(source, True), ["70000", "9", "5", "77", "0", "21", "22", "512"])
        self.assertEqual(dictionary(source, False), ["128", "3", "31", "1", "8"])
        self.assertEqual(dictionary(source)[:8], dictionary(source, True))
        self.assertEqual(dictionary("match n:\n    case 6:\n        f(7)"), ["6", "7"])

    def test_the_list_is_short_and_none_comes_twice(self):
        self.assertEqual(dictionary("f(%s)" % ",".join(str(k % 300) for k in range(1000))), [str(k) for k in range(256)])
        self.assertEqual(dictionary("f(1, 1.0, 1)"), ["1", "1.0"])


class Tap(unittest.TestResult):
    """One line per test; subtests that fail are shown below it."""

    def __init__(self):
        super().__init__()
        self.number = 0

    def say(self, test, problems):
        self.number += 1
        print("%s %d - %s" % ("not ok" if problems else "ok", self.number, test.id().replace("__main__.", "")))
        for problem in problems:
            print("# " + problem.replace("\n", "\n# "))

    def stopTest(self, test):
        super().stopTest(test)
        own = [text for failed, text in self.failures + self.errors
               if getattr(failed, "test_case", failed) is test]
        self.say(test, own)


if __name__ == "__main__":
    suite = unittest.defaultTestLoader.loadTestsFromModule(sys.modules[__name__])
    print("1..%d" % suite.countTestCases())
    result = Tap()
    suite.run(result)
    sys.exit(0 if result.wasSuccessful() else 1)
