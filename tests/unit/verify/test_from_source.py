#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""verify/python/compiler: Triton IR from the text of kernel.py and claims, both of which may be hostile. Each case runs in a process
of its own with the limits of a worker; an audit hook sees whether anything of the text reaches the system."""

import ast
import concurrent.futures
import itertools
import json
import multiprocessing
import os
import pathlib
import resource
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "verify" / "python" / folder) for folder in ("compiler", "runner")]
sys.dont_write_bytecode = True
os.environ.pop("TRITON_INTERPRET", None)
try:
    import triton
    import triton.language as tl
except ImportError:
    other = os.environ.get("KGB_PYTHON") or str(ROOT / ".deps" / "venv" / "bin" / "python")
    if sys.executable == other or not os.access(other, os.X_OK):
        print("skipped: no Python with triton; ./bootstrap setup installs one")
        sys.exit(1 if "torch" in os.environ.get("KGB_TESTS_MUST_RUN", "").split(",") else 77)
    os.execv(other, [other, "-I", *sys.argv])
import triton.compiler.code_generator as code_generator  # noqa: E402

ORDINARY = code_generator.CodeGenerator
import from_source  # noqa: E402
import hardened  # noqa: E402
import ttir_image  # noqa: E402
from claims import OPTIONS  # noqa: E402
from refusal import Refused  # noqa: E402

WALL_S, MEMORY = 600, 2 << 30
CPU_S = 30  # of a child with many cases
EXHAUSTED_S = 1
HEAD = "import os\nimport triton\nimport triton.language as tl\n"
REACHED = ("open", "os.", "subprocess.", "socket.", "ctypes.", "shutil.", "pty.", "code.__new__")
NAMES = {"tl": {"module": "triton.language"}, "triton": {"module": "triton"}}


def setUpModule():
    from_source.prepare()


def kernel(body, parameters="x"):
    return HEAD + "@triton.jit\ndef k(%s):\n" % parameters + "".join("    %s\n" % line for line in body.splitlines())


def claims_of(text, more_names=(), **fields):
    """Claims for the kernel `k` of one pointer x, and for all other functions of the text."""
    found = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)]
    found.sort(key=lambda node: node.name != "k")
    names = {**NAMES, **{node.name: {"function": i} for i, node in enumerate(found)}, **dict(more_names)}
    functions = [{"name": node.name, "line": node.lineno, "names": names} for node in found]
    types = [[arg.arg, "*fp32" if i == 0 else "i32"] for i, arg in enumerate(found[0].args.args)] if found else []
    return {"kgb_ttir": 1, "functions": functions, "types": types, "constants": [], "attrs": [], "options": {}, **fields}


def outcome(text, claims):
    """(module, facts), or a text with the refusal."""
    try:
        return from_source.make(text.encode(), claims if isinstance(claims, bytes) else json.dumps(claims).encode())
    except Refused as error:
        return "refused: %s" % error
    except MemoryError:
        return "refused: memory"
    except Exception as error:
        return "broken: %s: %s" % (type(error).__name__, error)


def attempt(channel, cases, is_ordinary, cpu_s):
    """In a child: what happens, and what was reached. Python itself looks for the source of a syntax error in <unknown>."""
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s))
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)
    if is_ordinary:
        code_generator.CodeGenerator = ORDINARY
    events, listens = [], [False]
    sys.addaudithook(lambda event, args: events.append("%s %s" % (event, args[:1])) if listens[0] and event.startswith(REACHED) and
                     args[:1] != ("<unknown>",) else None)
    for text, claims in cases:
        listens[0] = True
        result = outcome(text, claims)
        listens[0] = False
        channel.send((result, events[:]))
        events.clear()


def tried_all(cases, is_ordinary=False, cpu_s=CPU_S):
    """For each (text, claims): (outcome, what was reached). A worker that dies ends the list."""
    context = multiprocessing.get_context("fork")
    mine, theirs = context.Pipe(False)
    child = context.Process(target=attempt, args=(theirs, cases, is_ordinary, cpu_s))
    child.start()
    theirs.close()
    results = []
    try:
        while len(results) < len(cases):
            results.append(mine.recv() if mine.poll(WALL_S) else ("broken: timeout", []))
    except EOFError:
        results.append(("refused: the worker died", []))
    if child.is_alive():
        child.kill()
    child.join()
    return results


def tried(text, claims=None, is_ordinary=False):
    return tried_all([(text, claims_of(text) if claims is None else claims)], is_ordinary)[0]


PAYLOAD = "os.system('true')"
FOOL = "class Fool:\n    def __getattr__(self, name):\n        %s\n    __call__ = __add__ = __radd__ = __getattr__\nfool = Fool()\n" % PAYLOAD

# Text that tries to reach Python: (name, text, whether Triton makes a module of it all the same).
ATTACKS = [
    ("a module of Python in the body", kernel(PAYLOAD), False),
    ("the front end's own modules", kernel("tl.core.knobs.subprocess.getoutput('true')"), False),
    ("getattr of a module", kernel("getattr(getattr(tl.core, 'knobs'), 'subprocess').getoutput('true')"), False),
    ("getattr with a default", kernel("getattr(tl.core, 'builtins', 0).open('/dev/null')"), False),
    ("getattr with a computed name", kernel("getattr(tl.core, 'buil' + 'tins').open('/dev/null')"), False),
    ("hasattr", kernel("tl.store(x, hasattr(tl.core, 'builtins'))"), False),
    ("globals of a function", kernel("tl.load.__globals__['knobs'].subprocess.getoutput('true')"), False),
    ("getattr of globals", kernel("getattr(tl.load, '__globals__')['knobs'].subprocess.getoutput('true')"), False),
    ("closure of a function", kernel("tl.load.__closure__[0].cell_contents('/dev/null')"), False),
    ("wrapped function", kernel("tl.load.__wrapped__(x, 0)"), False),
    ("code of a function", kernel("tl.load.__code__.replace(co_code=b'')"), False),
    ("classes of a constant", kernel("y: tl.constexpr = (1).__class__.__base__.__subclasses__()\ntl.store(x, 0)"), False),
    ("classes of a tensor", kernel("tl.store(x, tl.load(x).__class__.__init__.__globals__['ir'])"), False),
    ("builtins of a module", kernel("tl.core.builtins.__import__('os').system('true')"), False),
    ("builtins without underscores", kernel("tl.core.builtins.open('/dev/null')"), False),
    ("exec of the core", kernel("tl.core.builtins.exec('import os; os.system(\"true\")')"), False),
    ("a module behind triton", kernel("triton.runtime.driver.os.system('true')"), False),
    ("the cache of triton", kernel("triton.runtime.cache.os.system('true')"), False),
    ("the compiler of triton", kernel("triton.compile('/dev/null')"), False),
    ("testing of triton", kernel("triton.testing.do_bench(tl.load)"), False),
    ("tools of triton", kernel("triton.tools.disasm.get_sass('x')"), False),
    ("jit of triton", kernel("triton.jit(tl.load)"), False),
    ("constexpr_function of triton", kernel("triton.constexpr_function(tl.load)"), False),
    ("the language's decorator", kernel("tl.core.builtin(tl.load)"), False),
    ("parser of types, which evaluates layouts", kernel("tl.str_to_ty('tensordesc<fp16[16],print(1)>', None)"), False),
    ("a path of the library", kernel("tl.core.Path('/dev/null').open()"), False),
    ("inspect of the library", kernel("tl.core.inspect.getsource(tl.load)"), False),
    ("a function of inspect", kernel("tl.core.inspect.os.system('true')"), False),
    ("the IR builder", kernel("tl.core.ir.parse_mlir_module('/dev/null')"), False),
    ("with", kernel("with tl.core.builtins.open('/dev/null'):\n    pass"), False),
    ("with of a context manager", kernel("with tl.core.contextmanager(tl.load):\n    pass"), False),
    ("static_print into a file", kernel("tl.static_print('x', file=tl.core.builtins.open('/dev/null', 'w'))"), False),
    ("static_print", kernel("tl.static_print('x', 1, sep='')\ntl.store(x, 0)"), True),
    ("the message of static_assert", kernel("tl.static_assert(False, tl.core.builtins.open('/dev/null'))"), False),
    ("the message of a static_assert that holds", kernel("tl.static_assert(True, tl.core.builtins.open('/dev/null'))\ntl.store(x, 0)"), True),
    ("a text with an expression", kernel("tl.static_print(f\"{tl.core.knobs.subprocess.getoutput('true')}\")"), False),
    ("a text with a conversion", kernel("tl.static_print(f\"{x!r:{tl.core.builtins.open('/dev/null')}}\")"), False),
    ("format of a text", kernel("y: tl.constexpr = '{0.__class__.__mro__}'.format(1)\ntl.store(x, 0)"), False),
    ("percent of a text", kernel("y: tl.constexpr = '%s' % 1\ntl.store(x, 0)"), False),
    ("join of a text", kernel("y: tl.constexpr = ''.join(['a'])\ntl.store(x, 0)"), False),
    ("the handle of a tensor", kernel("y = tl.load(x)\ny.handle.set_loc(1)"), False),
    ("getattr of the handle", kernel("getattr(tl.load(x), 'handle').set_loc(1)"), False),
    ("a tensor of a handle", kernel("tl.tensor(1, tl.float32)"), False),
    ("a descriptor of a handle", kernel("tl.core.tensor_descriptor(1, x, x, x)"), False),
    ("the front end's argument", kernel("tl.store(x, 1, _semantic=0)"), False),
    ("the front end's generator", kernel("tl.reduce(tl.zeros([4], tl.float32), 0, tl.sum, _generator=0)"), False),
    ("a method of types", kernel("tl.float32.to_ir(1)"), False),
    ("enumerations of types", kernel("tl.dtype.SIGNEDNESS.SIGNED.value"), False),
    ("subscript of a class", kernel("list[tl.core.builtins]"), False),
    ("subscript of a kernel", kernel("k[0](x)"), False),
    ("run of a kernel", kernel("k.run(x, grid=(1,), warmup=False)"), False),
    ("the function of a kernel", kernel("k.fn()"), False),
    ("parse of a kernel", kernel("k.parse()"), False),
    ("source of a kernel", kernel("k._unsafe_update_src('def k(): pass')"), False),
    ("a combining function of Python", kernel("tl.store(x, tl.reduce(tl.zeros([4], tl.float32), 0, getattr))"), False),
    ("mapped function of Python", kernel("tl.map_elementwise(isinstance, tl.zeros([4], tl.float32))"), False),
    ("a loop over something", kernel("for i in tl.core.builtins.open('/dev/null'):\n    pass"), False),
    ("a loop over a library's class", kernel("for i in tl.core.builtins.map(tl.load, [1]):\n    pass"), False),
    ("a target that is an attribute", kernel("for tl.x in range(3):\n    pass"), False),
    ("an assignment to an attribute", kernel("tl.core.knobs = 1"), False),
    ("an assignment to an item", kernel("tl.load.__globals__['x'] = 1"), False),
    ("deletion", kernel("del tl.load"), False),
    ("an import", kernel("import os\nos.system('true')"), False),
    ("a class", kernel("class C:\n    %s" % PAYLOAD), False),
    ("a lambda", kernel("(lambda: %s)()" % PAYLOAD), False),
    ("a function inside", kernel("def f():\n    %s\nf()" % PAYLOAD), False),
    ("yield", kernel("yield %s" % PAYLOAD), False),
    ("await", kernel("tl.store(x, [i async for i in x])"), False),
    ("try", kernel("try:\n    tl.core.knobs.x\nexcept Exception:\n    pass\ntl.store(x, 0)"), False),
    ("a comprehension", kernel("[tl.core.builtins.open('/dev/null') for i in [1]]"), False),
    ("a walrus", kernel("(y := tl.core.builtins).open('/dev/null')"), False),
    ("a branch that is not taken", kernel("if False:\n    %s\ntl.store(x, 0)" % PAYLOAD), True),
    ("unpacked arguments", kernel("tl.store(*tl.core.builtins.open('/dev/null'))"), False),
    ("unpacked keywords", kernel("tl.store(x, **tl.core.builtins)"), False),
    ("extern_elementwise of a file", kernel(
        "tl.core.extern_elementwise('/etc/passwd', '/etc/passwd', [tl.load(x)], {}, is_pure=True)"), False),
    ("a module in a tuple", kernel("(tl.core,)[0].builtins.open('/dev/null')"), False),
    ("a tuple's list", kernel("tl.tuple([1]).values.append(tl.core.builtins.open)"), False),
    ("a constant of a module", kernel("tl.constexpr(tl.core).value.builtins.open('/dev/null')"), False),
    ("a nested constant", kernel("tl.constexpr(tl.constexpr(tl.core)).builtins.open('/dev/null')"), False),
    ("a method of numbers", kernel("(1).from_bytes(b'1', 'big')"), False),
    ("a call of a number", kernel("(1)()"), False),
    ("a factorial", kernel("tl.store(x, triton.language.math.math.factorial(10))"), False),
    ("Python in a default", HEAD + "@triton.jit\ndef k(x, a=%s):\n    tl.store(x, 1)\n" % PAYLOAD, True),
    ("Python in a default of a helper", HEAD + "@triton.jit\ndef f(a=%s):\n    return a\n@triton.jit\ndef k(x):\n    tl.store(x, f())\n" %
     PAYLOAD, False),
    ("Python in an annotation", HEAD + "@triton.jit\ndef k(x: %s):\n    tl.store(x, 1)\n" % PAYLOAD, True),
    ("Python in an annotation of a variable", kernel("y: %s = 1\ntl.store(x, y)" % PAYLOAD), False),
    ("Python in the result's annotation", HEAD + "@triton.jit\ndef k(x) -> %s:\n    tl.store(x, 1)\n" % PAYLOAD, True),
    ("Python in a decorator", HEAD + "@%s\n@triton.jit\ndef k(x):\n    tl.store(x, 1)\n" % PAYLOAD, True),
    ("repr of a kernel", HEAD + "@triton.jit(repr=lambda s: %s)\ndef k(x):\n    tl.store(x, 1)\n" % PAYLOAD, True),
    ("noinline", HEAD + "@triton.jit(noinline=%s)\ndef k(x):\n    tl.store(x, 1)\n" % PAYLOAD, True),
    ("Python at the module's level", HEAD + PAYLOAD + "\n" + kernel("tl.store(x, 1)"), True),
    ("a module that shadows", HEAD + FOOL + kernel("fool.x\ntl.store(x, fool)"), False),
    ("a codec", "# -*- coding: rot13 -*-\n" + kernel("tl.store(x, 1)"), True),
]

# Text that tries to use up the worker. It may be refused or end the worker, within the limits; constant expressions are refused before
# they are computed.
EXHAUSTING = [
    ("a power", kernel("y: tl.constexpr = 10 ** 10 ** 9\ntl.store(x, y == 0)")),
    ("powers", kernel("y: tl.constexpr = " + "9 ** (" * 60 + "9" + ")" * 60 + "\ntl.store(x, y == 0)")),
    ("a shift", kernel("y: tl.constexpr = 1 << (1 << 40)\ntl.store(x, y == 0)")),
    ("products", kernel("y: tl.constexpr = " + " * ".join(["(1 << 1000)"] * 90) + "\ntl.store(x, y == 0)")),
    ("a long text", kernel("y: tl.constexpr = 'a' * 10 ** 11\ntl.store(x, 0)")),
    ("a text that doubles", kernel("y: tl.constexpr = 'a'\n" + "\n".join(
        "z%d: tl.constexpr = %s + %s" % (i, name, name) for i, name in enumerate(["y"] + ["z%d" % i for i in range(63)])) +
        "\ntl.store(x, 0)")),
    ("texts in texts", kernel("z0: tl.constexpr = 'aaaaaaaa'\n" + "\n".join(
        "z%d: tl.constexpr = f'{z%d}{z%d}'" % (i + 1, i, i) for i in range(40)) + "\ntl.store(x, 0)")),
    ("a tuple", kernel("y: tl.constexpr = (1, 2) * 10 ** 10\ntl.store(x, 0)")),
    ("a list", kernel("list(range(10 ** 10))\ntl.store(x, 0)")),
    ("a padded text", kernel("y: tl.constexpr = '%1000000000d' % 5\ntl.store(x, 0)")),
    ("static_range", kernel("for i in tl.static_range(10 ** 9):\n    tl.store(x, i)")),
    ("static_range in static_range", kernel("for i in tl.static_range(10 ** 5):\n    for j in tl.static_range(10 ** 5):\n        pass")),
    ("an endless recursion", HEAD + "@triton.jit\ndef f(x, n: tl.constexpr):\n    f(x, n + 1)\n@triton.jit\ndef k(x):\n    f(x, 0)\n"),
    ("an endless recursion of equal calls", HEAD + "@triton.jit\ndef f(x):\n    f(x)\n@triton.jit\ndef k(x):\n    f(x)\n"),
    ("a tree of calls", HEAD + "@triton.jit\ndef f(x, n: tl.constexpr):\n    if n < 40:\n        f(x, n + 1)\n        f(x, n + 1.5)\n"
     "@triton.jit\ndef k(x):\n    f(x, 0)\n"),
    ("deep parentheses", kernel("tl.store(x, %s1%s)" % ("(" * 150 + "-", ")" * 150))),
    ("a deep sign", kernel("tl.store(x, %s1)" % ("-" * 5000))),
    ("a deep call", kernel("tl.store(x, " + "tl.abs(" * 90 + "1.0" + ")" * 90 + ")")),
    ("a deep sum", kernel("tl.store(x, " + " + ".join(["tl.load(x)"] * 3000) + ")")),
    ("deep conditions", kernel("y = tl.load(x)\ntl.store(x, " + "1.0 if y > 0 else (" * 90 + "2.0" + ")" * 90 + ")")),
    ("deep loops", kernel("".join("  " * i + "for i%d in range(tl.load(x).to(tl.int32)):\n" % i for i in range(18)) + "  " * 18 + "tl.store(x, 0)")),
    ("a huge block", kernel("tl.store(x + tl.arange(0, 1 << 40), 0)")),
    ("huge blocks", kernel("tl.zeros([1 << 20, 1 << 20], tl.float32)")),
    ("many dimensions", kernel("y = tl.zeros([%s], tl.float32)\ntl.store(x, 0)" % ", ".join(["1"] * 3000))),
    ("a pointer to pointers", kernel("y: tl.constexpr = " + "tl.pointer_type(" * 90 + "tl.float32" + ")" * 90 + "\ntl.store(x, 0)")),
    ("a number of 5,000 digits", kernel("tl.store(x, %s)" % ("9" * 5000))),
    ("unfit numbers for the IR", kernel("for i in tl.range(0, 4, num_stages=1 << 200):\n    tl.store(x, i)")),
    ("negative numbers for the IR", kernel("tl.store(x + tl.arange(-4, 4), tl.full([8], 1, tl.int8), cache_modifier='.zz')")),
    ("assembly that is broken", kernel("tl.inline_asm_elementwise('\\0%s' , '=r,r', [tl.load(x)], tl.float32, True, 0)")),
    ("assembly of 10,000 results", kernel(
        "tl.inline_asm_elementwise('x', '=r,r', [tl.load(x)], (%s), True, 1)" % ("tl.float32, " * 10000))),
    ("a line of a megabyte", kernel("tl.static_print('%s')\ntl.store(x, 0)" % ("a" * (1 << 20)))),
    ("a name of 100,000 letters", kernel("%s = 1\ntl.store(x, 0)" % ("a" * 100000))),
    ("half a character", kernel("tl.device_print('\\ud800', 1)")),
]
TOO_LARGE = ("a power", "powers", "a shift", "products", "a long text", "a text that doubles", "texts in texts", "a tuple")


class Attacks(unittest.TestCase):
    def test_text_cannot_reach_python(self):
        results = tried_all([(text, claims_of(text)) for _, text, _ in ATTACKS])
        self.assertEqual(len(results), len(ATTACKS), results[-1:])
        for (name, _, is_made), (result, events) in zip(ATTACKS, results):
            with self.subTest(name):
                self.assertEqual(events, [])
                self.assertEqual(type(result) is tuple, is_made, result)
                self.assertTrue(is_made or result.startswith("refused: "), result)

    def test_the_audit_sees_what_the_ordinary_front_end_lets_through(self):
        for body in ("tl.core.builtins.open('/dev/null')", "tl.core.knobs.subprocess.getoutput('true')",
                     "tl.static_print('x', file=tl.core.builtins.open('/dev/null', 'w'))"):
            self.assertNotEqual(tried(kernel(body), is_ordinary=True)[1], [], body)

    def test_text_cannot_exhaust_more_than_its_worker(self):
        def one(case):
            try:
                claims = claims_of(case[1])
            except (SyntaxError, RecursionError, MemoryError, ValueError):
                claims = claims_of(kernel("pass"))
            return tried_all([(case[1], claims)], cpu_s=EXHAUSTED_S)[0]

        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            results = list(pool.map(one, EXHAUSTING))
        for (name, _), (result, events) in zip(EXHAUSTING, results):
            with self.subTest(name):
                self.assertEqual(events, [])
                self.assertTrue(type(result) is tuple or result.startswith("refused: "), result)
                self.assertEqual("a constant expression makes" in result, name in TOO_LARGE, result)

    def test_no_attribute_of_a_value_reaches_python(self):
        """Everything without underscores that dir() lists for what a kernel can hold, read and called."""
        values = {
            "tl.load(x)": tl.tensor, "x": tl.tensor, "tl.float32": tl.dtype, "x.dtype": tl.pointer_type, "tl.zeros([4], tl.int32).type": tl.block_type,
            "tl.constexpr(1)": tl.constexpr, "tl.constexpr(1).value": int, "'text'": str, "1.5": float, "True": bool, "(1, x)": tl.tuple,
            "tl.load": tl.load, "tl.sum": tl.sum, "triton.cdiv": triton.cdiv, "k": from_source.hardened.FromText, "tl.range(3)": tl.range,
            "tl.tensor": tl.tensor, "tl.extra.libdevice": tl.extra.libdevice}
        cases = []
        for expression, kind in values.items():
            for name in (name for name in dir(kind) if not name.startswith("__")):
                for form in ("%s.%s", "%s.%s(x, 'a')"):
                    cases.append(kernel("y: tl.constexpr = " + form % (expression, name) + "\ntl.store(x, 0)"))
        results = tried_all([(text, claims_of(text)) for text in cases], cpu_s=10 * CPU_S)
        self.assertEqual(len(results), len(cases), results[-1:])
        for text, (result, events) in zip(cases, results):
            self.assertEqual(events, [], text)
            self.assertTrue(type(result) is tuple or result.startswith("refused: "), (text, result))
            if type(result) is tuple:
                attribute = text.splitlines()[5].rpartition(".")[2]
                self.assertFalse(attribute.startswith("_") or attribute in ("handle", "fn", "to_ir"), text)
        self.assertGreater(len(cases), 500)


class HostileClaims(unittest.TestCase):
    TEXT = kernel("tl.store(x, V)")

    def all_refused(self, cases, text=None, why=""):
        results = tried_all([(text or self.TEXT, claims) for claims in cases])
        self.assertEqual(len(results), len(cases), results[-1:])
        for claims, (result, events) in zip(cases, results):
            self.assertEqual(events, [])
            self.assertTrue(type(result) is str and result.startswith("refused: " + why), (claims, result))
        return [result for result, _ in results]

    def with_value(self, value):
        return claims_of(self.TEXT, {"V": value})

    def test_the_control_is_made(self):
        result, _ = tried(self.TEXT, self.with_value({"constexpr": 1.5}))
        self.assertIn("1.5", result[0])
        self.assertEqual(result[1], {"name": "k", "asm": 0})

    def test_lines_that_are_no_claims(self):
        good = json.dumps(self.with_value({"constexpr": 1})).encode()
        self.all_refused([
            b"", b"{", b"[]", b"null", b"1", b"\xff", b"\0", good[:-1], good + b"x", good[:-1] + b',"more":1}', b"[" * 100000,
            b'{"kgb_ttir":' + b"9" * 5000 + b"}", good.replace(b'"kgb_ttir": 1', b'"kgb_ttir": 2'),
            good.replace(b'{"constexpr": 1}', b"NaN"), good.replace(b'{"constexpr": 1}', b"1e999999")])

    def test_values_that_cannot_be(self):
        deep = 1
        for _ in range(100):
            deep = {"constexpr": [deep]}
        values = (
            {"module": "os"}, {"module": "triton.language.os"}, {"module": "triton.runtime"}, {"module": ["triton"]}, {"module": None},
            {"module": "triton.language", "values": {"store": 1}}, {"module": "os", "values": {"system": {"library": ["os", "system"]}}},
            {"module": "m", "values": {"__class__": 1}}, {"module": "m", "values": 1}, {"module": "math", "values": {}},
            {"library": ["os", "system"]}, {"library": ["builtins", "exec"]}, {"library": ["triton.language.core", "builtins"]},
            {"library": ["triton.language.core", "knobs"]}, {"library": ["triton.language.core", "__builtins__"]},
            {"library": ["triton.language", "core"]}, {"library": ["triton", "jit"]}, {"library": ["triton", "compile"]},
            {"library": ["triton.language", "str_to_ty"]}, {"library": ["triton.language.core", "builtin"]},
            {"library": ["triton.language.core", "tensor.__init__"]}, {"library": ["triton.language.core", "wraps"]},
            {"library": ["triton.language"]}, {"library": "triton"}, {"library": [1, 2]},
            {"float": "1"}, {"float": 1}, {"dtype": "fp128"}, {"dtype": 1}, {"dtype": {"constexpr": "fp32"}}, {"torch": "Tensor"},
            {"torch": "load"}, {"function": 1}, {"function": -1}, {"function": True}, {"function": "0"}, {"pointer": [1, 1, False]},
            {"pointer": [{"dtype": "fp32"}, -1, False]}, {"pointer": {"dtype": "fp32"}}, {"constexpr": {"os": 1}}, {"unknown": 1},
            {"constexpr": 1, "dtype": "fp32"}, {}, {"list": 1}, 1 << 200, {"namedtuple": ["P", ["__class__"], [1]]},
            {"namedtuple": ["P", ["_replace"], [1]]}, {"namedtuple": ["P", ["a", "a"], [1, 2]]}, {"namedtuple": ["P", ["def"], [1]]},
            {"namedtuple": ["P", ["a b"], [1]]}, {"namedtuple": ["P()", ["a"], [1]]}, {"namedtuple": ["P", "a", [1]]},
            {"namedtuple": ["P", 3, [1]]}, {"namedtuple": ["P", [["a"]], [1]]}, {"namedtuple_class": ["P", ["a"], {"b": 1}]},
            {"namedtuple_class": ["P", ["a", "b"], {"a": 1}]}, {"namedtuple_class": ["P", 1, {}]}, deep)
        self.all_refused([self.with_value(value) for value in values], why="a claim ")

    def test_variables_that_triton_does_not_allow(self):
        values = 1, 1.5, "text", [1, 2], {"list": [1]}, {"torch": "float16"}
        self.all_refused([self.with_value(value) for value in values], why='NameError("Cannot access global variable V')

    def test_names_that_cannot_be(self):
        names = "", "a b", "1", "x;y", "\u03b1", "def", "a" * 1000, "a\n"
        self.all_refused([claims_of(self.TEXT, {"V": {"constexpr": 1}, name: 1}) for name in names], why="a claim names ")

    def test_functions_that_are_not_in_the_text(self):
        good = self.with_value({"constexpr": 1})
        changes = (
            {"line": 4}, {"line": -1}, {"line": 10 ** 30}, {"line": True}, {"line": "5"}, {"name": "f"}, {"name": "k()"}, {"name": 1},
            {"defaults": {}}, {"defaults": {"x": 1}}, {"noinline": 1}, {"symbol": "a b"}, {"symbol": "@x"}, {"symbol": ""}, {"symbol": 1},
            {"more": 1}, {"names": []}, {"answers": []}, {"code": "x"})
        self.all_refused([{**good, "functions": [{**good["functions"][0], **change}]} for change in changes])
        lists = [], {}, None, [1], [None], [[]], good["functions"] * 1000
        self.all_refused([{**good, "functions": functions} for functions in lists])

    def test_types_that_cannot_be(self):
        good = self.with_value({"constexpr": 1})
        kinds = (
            "", "*", "**fp32", "fp33", "*fp32 ", "*fp32\n", "tensordesc<fp16[16],print(1)>", "tensordesc<fp16[16],NVMMASharedLayout()>",
            "tensordesc_im2col<fp16[16]>", "tensordesc<fp16[]>", "tensordesc<fp16[99999999999]>", 1, None, [1], {"tuple": 1},
            {"tuple": ["P", ["a"], []]})
        self.all_refused([{**good, "types": [["x", kind]]} for kind in kinds], why="a parameter cannot have the type ")
        kinds = {"tuple": ["P", ["__a"], ["fp32"]]}, {"tuple": ["P", "a", ["fp32"]]}, "constexpr"
        self.all_refused([{**good, "types": [["x", kind]]} for kind in kinds])
        lists = [], [["y", "*fp32"]], [["x", "*fp32"]] * 2, [["x"]], ["x"], {"x": "*fp32"}, None, [["x", "*fp32", 1]]
        self.all_refused([{**good, "types": types} for types in lists], why="the types are not those of the kernel's parameters")

    def test_constants_and_attributes_that_cannot_be(self):
        good = self.with_value({"constexpr": 1})
        lists = ([[[0], 1]], [[[1], 1]], [[[], 1]], [[0, 1]], [[["x"], 1]], [[[-1], 1]], [[[True], 1]], [[[0, 0], 1]], 1, {}, [1])
        self.all_refused([{**good, "constants": rows} for rows in lists])
        text = kernel("tl.store(x, N)", "x, N")
        types = [["x", "*fp32"], ["N", "constexpr"]]
        self.assertIs(type(tried(text, claims_of(text, types=types, constants=[[[1], 2]]))[0]), tuple)
        self.all_refused([claims_of(text, types=types, constants=rows) for rows in ([[[0], 2]], [[[0], 2], [[1], 2]], [])], text,
                         why="the constants are not those that the types announce")
        lists = ([[[0], []]], [[[0], [["tt.divisibility", 32]]]], [[[0], [["tt.nv_tma_desc", 1]]]], [[[3], [["tt.divisibility", 16]]]],
                 [[[0], "x"]], [[[0], [["tt.divisibility", 16], ["x", 1]]]], 1, [[[0]]])
        self.all_refused([{**good, "attrs": rows} for rows in lists])

    def test_options_that_cannot_be(self):
        good = self.with_value({"constexpr": 1})
        choices = ({"extern_libs": {"x": "/etc/passwd"}}, {"num_warps": "4"}, {"num_warps": 0}, {"num_warps": -4}, {"num_warps": 3},
                   {"num_warps": 10 ** 30}, {"num_warps": True}, {"debug": 1}, {"arch": "sm80"}, {"ir_override": "/etc/passwd"},
                   {"instrumentation_mode": "gsan"}, {"": 1}, [], None, {"default_dot_input_precision": 1}, {"launch_pdl": None})
        self.all_refused([{**good, "options": options} for options in choices])
        self.all_refused([{**good, "options": {"launch_pdl": True}}], why="the option launch_pdl starts the kernel before")
        self.assertIs(type(tried(kernel("tl.store(x, V)"), {**good, "options": {"launch_pdl": False}})[0]), tuple)

    def test_the_options_are_those_that_a_runner_claims(self):
        self.assertEqual(set(OPTIONS), set(ttir_image.OPTIONS))

    def test_a_constexpr_function_has_only_the_results_that_are_claimed(self):
        text = HEAD + "@triton.constexpr_function\ndef f(n, m=1):\n    %s\n    return n\n" % PAYLOAD + kernel("tl.store(x, f(V, m=2))")
        answers = {"name": "f", "line": 5, "answers": [[[7], {"m": 2}, 99], [[7.0], {"m": 2}, 1], [[True], {"m": 2}, 1]]}

        def claims(value, row=answers):
            made = claims_of(text[text.index("import triton\n"):])
            made["functions"] = [{"name": "k", "line": 12, "names": {**NAMES, "f": {"function": 1}, "V": {"constexpr": value}}}, row]
            return made

        result, events = tried(text, claims(7))
        self.assertIn("99", result[0])
        self.assertEqual(events, [])
        for why in self.all_refused([claims(8), claims(1)], text):
            self.assertIn("no result is claimed", why)
        self.all_refused([claims(7, {**answers, "answers": row}) for row in (
            [], [[7, {"m": 2}, 1]], [[[7], [], 1]], [[[7], {"m": 2}]], [1], {"x": 1})], text)

    def test_a_refusal_that_the_front_end_swallows_counts(self):
        text = kernel("tl.store(x, 1)\nhasattr(x, 'nothing')\ntl.static_assert(hasattr(tl.load(x), 'dtype'))")
        self.assertIs(type(tried(text)[0]), tuple)
        self.assertIn("refused", tried(kernel("tl.static_assert(False, tl.load.__globals__)"))[0])


class HonestText(unittest.TestCase):
    """What honest kernels use, besides the corpus."""

    def made(self, text, names=(), **fields):
        result, events = tried(text, claims_of(text, names, **fields))
        self.assertIs(type(result), tuple, result)
        self.assertEqual(events, [])
        return result[0]

    def test_attributes_and_functions_of_the_language(self):
        self.made(kernel("""i = tl.arange(0, 16)
v = tl.load(x + i, mask=i < 8, other=0.0).to(tl.float16).to(tl.float32)
n: tl.constexpr = (16).bit_length() + triton.next_power_of_2(5) + triton.cdiv(7, 2) + len((1, 2)) + int(3.5)
tl.static_assert(v.dtype == tl.float32 and v.shape[0] == 16 and v.type.element_ty.is_floating())
tl.static_assert(x.dtype.element_ty.primitive_bitwidth == 32)
w = tl.sum(v, axis=0) + v.max(axis=0) + tl.math.exp(v.sum()) + tl.extra.libdevice.rint(v.min())
for j in tl.static_range(3):
    w += j
sizes: tl.constexpr = tl.constexpr(4).value * tl.constexpr(2).value + (-tl.constexpr(8).value)
tl.static_assert(sizes == 0 and tl.constexpr("a").value + f"{n}" != "a")
for j in range(n):
    w += tl.where(j > 2, 1.0, float('inf'))
tl.device_print('w', w)
tl.store(x + i, tl.cumsum(v, 0) + w, mask=i < 8)
y = tl.reduce(v, 0, tl.standard._sum_combine)
tl.store(x, y if tl.program_id(0) == 0 else w)
tl.debug_barrier()"""))

    def test_values_of_variables(self):
        text = kernel("tl.store(x, A.to(T))\ntl.static_assert(E == torch.float16)\ntl.store(x, pi * np.e + P(1, 2).b + q.a)").replace(
            "A.to(T)", "tl.full([], A, T)")
        self.made(text, {"A": {"constexpr": {"float": "-inf"}}, "T": {"dtype": "fp32"}, "E": {"constexpr": {"torch": "float16"}},
                         "torch": {"module": "torch", "values": {"float16": {"torch": "float16"}}}, "pi": {"constexpr": 3.25},
                         "np": {"module": "numpy", "values": {"e": 2.5}}, "P": {"namedtuple_class": ["P", ["a", "b"], {"b": 3}]},
                         "q": {"constexpr": {"namedtuple": ["P", ["a"], [5]]}}})

    def test_tuples_as_arguments(self):
        text = kernel("tl.store(p.ptr, p.n + q[0] + q[1])", "p, q")
        module = self.made(text, types=[["p", {"tuple": ["P", ["ptr", "n"], ["*fp32", "i32"]]}], ["q", ["constexpr", "fp32"]]],
                           constants=[[[1, 0], 7]], attrs=[[[0, 0], [["tt.divisibility", 16]]]])
        self.assertIn("tt.divisibility = 16", module)

    def test_functions_in_functions_and_symbols(self):
        text = HEAD + "def make():\n    @triton.jit\n    def f(a, b=2.0):\n        return a * b\n    @triton.jit\n    def k(x):\n" \
                      "        tl.store(x, f(3.0))\n    return k\n"
        claims = {"kgb_ttir": 1, "functions": [
            {"name": "k", "line": 9, "names": {**NAMES, "f": {"function": 1}}, "symbol": "k_fp32"},
            {"name": "f", "line": 6, "names": {}, "defaults": {"b": 2.0}, "noinline": True}],
            "types": [["x", "*fp32"]], "constants": [], "attrs": [], "options": {"num_warps": 8}}
        result, _ = tried(text, claims)
        self.assertIs(type(result), tuple, result)
        self.assertIn("kernel.make.<locals>.f", result[0])
        self.assertIn("noinline = true", result[0])
        self.assertEqual(result[1]["name"], "k_fp32")

    def test_a_helper_may_have_private_names(self):
        self.made(HEAD + "@triton.jit\ndef _f(_a, _b):\n    return _a + _b\n@triton.jit\ndef k(x):\n    tl.store(x, _f(1.0, _b=2.0))\n")

    def test_inline_assembly_is_counted(self):
        text = kernel("tl.store(x, tl.inline_asm_elementwise('mov.b32 $0, $1;', '=r,r', [tl.load(x)], tl.float32, True, 1))")
        self.assertEqual(tried(text)[0][1]["asm"], 1)


class Attributes(unittest.TestCase):
    """Modules that differ in attributes alone are made once."""
    DIVISIBLE = [["tt.divisibility", 16]]
    BODY = "tl.inline_asm_elementwise('// {tt.divisibility = 1048576 : i32}', '=r,r', [n], tl.int32, True, 1)\ntl.store(x + n, t[0])"
    PLACES = [0], [1], [2, 0]

    def compare(self, places):
        text = kernel(self.BODY, "x, n, t, N")
        line = claims_of(text, types=[["x", "*fp32"], ["n", "i32"], ["t", ["fp32", "constexpr"]], ["N", "constexpr"]],
                         constants=[[[2, 1], 7], [[3], 8]], attrs=[[place, self.DIVISIBLE] for place in places])
        line = json.dumps(line).encode()
        made = from_source.make(text.encode(), line)
        claims = from_source.Claims(from_source.parsed(text.encode()), line)
        self.assertEqual(made, from_source.module_of(claims, hardened.TARGET.arch))
        return made[0]

    def test_a_pattern_gives_what_the_front_end_makes(self):
        made = {self.compare(places) for n in range(4) for places in itertools.combinations(self.PLACES, n)}
        self.assertEqual(len(made), 8)
        self.assertEqual(list(map(bool, from_source.Kept.patterns.values())), [True])


class Whitelist(unittest.TestCase):
    def test_the_language_gives_only_what_is_listed(self):
        """Everything that a path of public attributes from the language's modules leads to."""
        seen, open_ = set(), [sys.modules[name] for name in hardened.MODULES]
        functions = 0
        while open_:
            module = open_.pop()
            if id(module) in seen:
                continue
            seen.add(id(module))
            for name, value in vars(module).items():
                if name.startswith("__") or not hardened.of_library(value):
                    continue
                if type(value) is type(sys):
                    self.assertIn(value.__name__, hardened.MODULES)
                    open_.append(value)
                elif hardened.may_call(value):
                    functions += 1
                    home = getattr(value, "__module__", None) or type(value).__module__
                    self.assertTrue(home.startswith("triton") or home in ("math", "builtins"), (module.__name__, name))
                    self.assertNotIn(home.split(".")[1:2], [["runtime"], ["compiler"], ["knobs"], ["tools"]], name)
        self.assertGreater(functions, 100)
        self.assertNotIn(tl.tensor, hardened.CALLED)
        self.assertTrue(triton.__version__)


if __name__ == "__main__":
    unittest.main()
