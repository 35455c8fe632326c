# SPDX-License-Identifier: MIT
"""The source worker: makes Triton IR, by our front end, from the text of kernel.py and the claims of an image. No code of the
candidate runs: the text is only parsed (docs/provenance.md). Text and claims may be hostile, so this process has a separate jail,
like the compile worker.

Request: {"id", "op": "compile", "sm", "text_bytes", "options_bytes"} with descriptors [input, output]. Input holds kernel.py,
then the claims. Output gets two little-endian 64-bit lengths, the text of the module, and JSON: {"name": of the kernel in it,
"asm": number of calls with inline assembly, and what shared_memory.py adds}. The reply's value is the number of bytes written.
"""

import gc
import json
import mmap
import os
import re
import struct
import sys
import warnings

from triton._C.libtriton import ir
from triton.compiler.compiler import ASTSource, make_backend
from triton.compiler.errors import CompilationError

import hardened
import shared_memory
import wire
from claims import Claims
from kernel_text import KernelText
from refusal import Refused

HEADER = struct.Struct("<QQ")
RECURSION = 4000
INLINE_ASSEMBLY = "tt.elementwise_inline_asm"
COLLECTED_AFTER = 32  # modules between garbage collections: modules hold memory that Python does not count
PATTERNS_MAX = 256
KERNEL = "\n  tt.func public @"
MARKS = 1 << 20  # of parameters begin here; no parameter has such a divisibility
MARK = re.compile(r" \{tt\.divisibility = (1[0-9]{6}) : i32\}")


class Kept:
    """Objects that all modules of one kernel.py share. A worker serves only one kernel.py, and the shared context has no effect
    on the text of a module."""

    text = parsed = context = None
    patterns = {}  # claims without attributes: a Pattern, or None: each such module must be made
    n_made = 0


def innermost(error):
    """The front end's message for the error that caused this one."""
    while error.__cause__ is not None:
        error = error.__cause__
    if isinstance(error, CompilationError):
        return error.error_message or type(error).__name__
    return "%s: %s" % (type(error).__name__, error)


def parsed(text):
    if Kept.text != text:
        Kept.text, Kept.parsed, Kept.patterns = text, KernelText(text), {}
    return Kept.parsed


def context_of(backend):
    if Kept.context is None:
        Kept.context = ir.context()
        ir.load_dialects(Kept.context)
        backend.load_dialects(Kept.context)
    return Kept.context


def make(text, line, sm=hardened.TARGET.arch):
    """(text of the module, facts) from kernel.py and the line of claims, for a GPU of this compute capability; raises Refused."""
    hardened.REFUSALS.clear()
    hardened.CLAIMED.clear()
    claims = Claims(parsed(text), line)
    key = sm, claims.without_attrs
    if key not in Kept.patterns:
        if len(Kept.patterns) == PATTERNS_MAX:
            Kept.patterns.clear()
        Kept.patterns[key] = pattern_of(claims, sm)
    pattern = Kept.patterns[key]
    if pattern and pattern.paths.keys() >= claims.attrs.keys():
        return pattern.text(claims.attrs), pattern.facts
    return module_of(claims, sm)


def module_of(claims, sm):
    """(text, facts) of the module for these claims."""
    module, options, backend = front_end(claims, claims.attrs, sm)
    text, facts = str(module), facts_of(module)
    if sm == hardened.TARGET.arch:
        facts.update(shared_memory.facts(module, text, options, backend))
    return text, facts


def front_end(claims, attrs, sm):
    """(module, options, backend)"""
    hardened.VISITED[0] = 0
    target = hardened.target_of(sm)
    backend = make_backend(target)
    context = context_of(backend)
    source = ASTSource(claims.kernel, claims.types, claims.constants, attrs)
    try:
        options = backend.parse_options(dict(claims.options))
        module = source.make_ir(target, options, backend.get_codegen_implementation(options), backend.get_module_map(), context)
    except MemoryError:
        raise
    except Exception as error:
        raise Refused(hardened.REFUSALS[0] if hardened.REFUSALS else innermost(error)) from None
    if hardened.REFUSALS:
        raise Refused(hardened.REFUSALS[0])
    return module, options, backend


class Pattern:
    """A module in which each parameter has a mark in place of its attributes. The front end copies attributes to the parameters
    and does not look at them, so modules that differ in attributes alone are one pattern."""

    def __init__(self, text, paths, facts):
        self.paths, self.facts = paths, facts
        before, self.kernel, rest = text.partition(KERNEL)
        parameters, self.newline, behind = rest.partition("\n")
        self.before, self.parameters, self.behind = before, parameters, behind

    def is_whole(self):
        marks = [int(mark) - MARKS for mark in MARK.findall(self.parameters)]
        return sorted(marks) == list(range(len(self.paths))) and KERNEL not in self.newline + self.behind

    def text(self, attrs):
        given = {self.paths[path] + MARKS: content for path, content in attrs.items()}

        def put(mark):
            return "".join(" {%s = %d : i32}" % tuple(one) for one in given.get(int(mark[1]), ()))
        return self.before + self.kernel + MARK.sub(put, self.parameters) + self.newline + self.behind


def pattern_of(claims, sm):
    """A pattern, or None: each module must be made, as where its memory must be laid out, which depends on attributes."""
    paths = {path: i for i, path in enumerate(claims.parameters())}
    marks = {path: [["tt.divisibility", MARKS + i]] for path, i in paths.items()}
    module, options, _ = front_end(claims, marks, sm)
    pattern = Pattern(str(module), paths, facts_of(module))
    if sm == hardened.TARGET.arch and shared_memory.must_be_laid_out(module, pattern.text({}), options):
        return None
    return pattern if pattern.is_whole() else None


def facts_of(module):
    n_asm = 0

    def visit(operator):
        nonlocal n_asm
        n_asm += operator.get_name() == INLINE_ASSEMBLY

    module.walk(visit)
    return {"name": module.get_entry_func_name(), "asm": n_asm}


def make_request(request, fds):
    n_text, n_claims = request["text_bytes"], request["options_bytes"]
    data = os.pread(fds[0], n_text + n_claims, 0)
    if len(data) != n_text + n_claims:
        return wire.Reply(wire.BAD_REQUEST, "input is shorter than announced")
    module, facts = make(data[:n_text], data[n_text:], request["sm"])
    module, told = module.encode(), json.dumps(facts).encode()
    total = HEADER.size + len(module) + len(told)
    room = os.fstat(fds[1]).st_size
    if total > room:
        return wire.Reply(wire.BAD_REQUEST, "the module has more than %d bytes" % room)
    with mmap.mmap(fds[1], room) as out:
        out[:total] = HEADER.pack(len(module), len(told)) + module + told
    reply = wire.Reply()
    reply.value = total
    return reply


def handle(request, fds):
    try:
        return make_request(request, fds)
    except Refused as error:
        return wire.Reply(wire.BAD_REQUEST, str(error))
    except MemoryError:
        return wire.Reply(wire.BAD_REQUEST, "making the module takes too much memory")
    except Exception as error:  # any error on hostile text
        return wire.Reply(wire.EXCEPTION, "%s: %s" % (type(error).__name__, error))
    finally:
        for fd in fds:
            os.close(fd)
        collect()


def collect():
    Kept.n_made += 1
    if Kept.n_made % COLLECTED_AFTER == 0:
        gc.collect()


WARM_UP = b"""import triton
import triton.language as tl
@triton.jit
def warm(x, n, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(x + i, tl.sum(tl.load(x + i, mask=i < n), 0))
"""
WARM_CLAIMS = {
    "kgb_ttir": 1, "functions": [{"name": "warm", "line": 4, "names": {"tl": {"module": "triton.language"}}}],
    "types": [["x", "*fp32"], ["n", "i32"], ["B", "constexpr"]], "constants": [[[2], 32]],
    "attrs": [[[0], [["tt.divisibility", 16]]]], "options": {"num_ctas": 2}}  # with clusters, its shared memory is laid out, too


def prepare():
    """Called once, in the zygote: makes a module for the first time, so that everything that loads lazily is loaded."""
    warnings.simplefilter("ignore")
    sys.setrecursionlimit(RECURSION)
    hardened.prepare()
    make(WARM_UP, json.dumps(WARM_CLAIMS).encode())


def main(channel):
    wire.serve(channel, handle)
