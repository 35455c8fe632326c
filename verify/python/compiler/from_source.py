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


class Kept:
    """Objects that all modules of one kernel.py share. A worker serves only one kernel.py, and the shared context has no effect
    on the text of a module."""

    text = parsed = context = None
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
        Kept.text, Kept.parsed = text, KernelText(text)
    return Kept.parsed


def context_of(backend):
    if Kept.context is None:
        Kept.context = ir.context()
        ir.load_dialects(Kept.context)
        backend.load_dialects(Kept.context)
    return Kept.context


def make(text, claims, sm=hardened.TARGET.arch):
    """(text of the module, facts) from kernel.py and the line of claims, for a GPU of this compute capability; raises Refused."""
    hardened.REFUSALS.clear()
    hardened.CLAIMED.clear()
    hardened.VISITED[0] = 0
    claims = Claims(parsed(text), claims)
    target = hardened.target_of(sm)
    backend = make_backend(target)
    context = context_of(backend)
    source = ASTSource(claims.kernel, claims.types, claims.constants, claims.attrs)
    try:
        options = backend.parse_options(dict(claims.options))
        module = source.make_ir(target, options, backend.get_codegen_implementation(options), backend.get_module_map(), context)
    except MemoryError:
        raise
    except Exception as error:
        raise Refused(hardened.REFUSALS[0] if hardened.REFUSALS else innermost(error)) from None
    if hardened.REFUSALS:
        raise Refused(hardened.REFUSALS[0])
    made, facts = str(module), facts_of(module)
    if target == hardened.TARGET:
        facts.update(shared_memory.facts(module, made, options, backend))
    return made, facts


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
