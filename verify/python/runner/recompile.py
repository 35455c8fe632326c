# SPDX-License-Identifier: MIT
"""The compile worker: makes machine code, by our own Triton and ptxas, from Triton IR in the form in which the front end makes
it.

Text and options come from a candidate's process and may be hostile, so each source gets a separate worker, in a jail without
network, GPU, /proc or a writable place other than /kgb/tmp. No option that names a file is taken.

Request: {"id", "op": "compile", "sm", "text_bytes", "options_bytes"} with descriptors [input, output]. Input holds the
IR, then the options as a JSON object. Output gets two little-endian 64-bit lengths, the cubin, and JSON facts of the module:
{"name", "ops": {operator: count}, "asm": [texts of inline assembly], "params": [bytes of each parameter of the kernel's source, 0 if
it has no fixed size], "metadata": the file that Triton stores beside the cubin}. The reply's value is the number of bytes written.
"""

import dataclasses
import json
import mmap
import os
import re
import struct
import subprocess

import triton
from triton import knobs
from triton._C.libtriton import ir
from triton.backends.compiler import GPUTarget
from triton.backends.nvidia.compiler import CUDABackend, CUDAOptions
from triton.compiler.compiler import make_backend

import wire

TMP = "/kgb/tmp"
WARP_SIZE = 32
HEADER = struct.Struct("<QQ")
OPTION_FIELDS = {field.name: field for field in dataclasses.fields(CUDAOptions)}
# Options that are used as requested if they have this type.
PLAIN = {
    "num_warps": int, "num_ctas": int, "num_stages": int, "maxnreg": int, "ptx_version": int, "min_shared_mem": int,
    "enable_fp_fusion": bool, "sched4reg": bool, "enable_reflect_ftz": bool, "launch_cooperative_grid": bool,
    "launch_pdl": bool, "clc": bool, "debug": bool, "sanitize_overflow": bool, "default_dot_input_precision": str,
}
PARAMETER_BYTES = {"i1": 1, "i8": 1, "i16": 2, "i32": 4, "i64": 8, "f16": 2, "bf16": 2, "f32": 4, "f64": 8}  # pointers are "*..."
NAME_LISTS = ("supported_fp8_dtypes", "deprecated_fp8_dot_operand_dtypes", "allowed_dot_input_precisions")
# Options that have our values, whatever the request contains.
OWN = ("arch", "backend_name", "warp_size", "extern_libs", "max_num_imprecise_acc_default")
UNSAID = ("hash", "target", "extern_libs")  # of the metadata: values of this process
PTXAS_FLAG = re.compile(r"(-O|--opt-level[= ])[0-3]|--?maxrregcount[= ]\d{1,3}|--fmad[= ](true|false)|"
                        r"--allow-expensive-optimizations[= ](true|false)|--?dlcm[= ]c[agv]|--?dscm[= ](wb|cg|wt)")


class Refused(Exception):
    """The request has an option that no proof can rest on."""


def ptxas_flags(value):
    """The flags, if all of them only tune code. Others are refused: one that names a file would let ptxas read or write the
    file."""
    text = " ".join(value.split()) if isinstance(value, str) else "\0"
    rest = PTXAS_FLAG.sub(" ", text)
    if rest.strip():
        raise Refused("option ptx_options %r" % (value,))
    return value


def check_libraries(value):
    """Only libdevice may be linked, and it is our own."""
    for entry in value or []:
        if not isinstance(entry, list) or len(entry) != 2 or entry[0] != "libdevice":
            raise Refused("links other code than libdevice: option extern_libs %r" % (value,))


def option(name, value):
    """The value to compile with."""
    if name in PLAIN:
        if type(value) is not PLAIN[name]:
            raise Refused("option %s %r" % (name, value))
        return value
    if name in NAME_LISTS:
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise Refused("option %s %r" % (name, value))
        return tuple(value)
    if name == "ptx_options":
        return ptxas_flags(value)
    raise Refused("option %s %r is not one that proofs know" % (name, value))


def options_of(requested, sm):
    """The options that Triton has; the rest of the object is ignored."""
    if not isinstance(requested, dict):
        raise Refused("the options are no object")
    if requested.get("arch", "sm%d" % sm) != "sm%d" % sm:
        raise Refused("options for %r, not for sm%d" % (requested["arch"], sm))
    check_libraries(requested.get("extern_libs"))
    chosen = {}
    for name, field in OPTION_FIELDS.items():
        value = requested.get(name)
        if value is None or name in OWN or value == field.default:
            continue
        chosen[name] = option(name, value)
    return chosen


def facts_of(path, backend):
    """Names of all operators, and texts of inline assembly. Fails where the text does not parse."""
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    module = ir.parse_mlir_module(path, context)
    ops = {}
    asm = []

    def visit(operator):
        name = operator.get_name()
        ops[name] = ops.get(name, 0) + 1
        if name == "tt.elementwise_inline_asm":
            asm.append(operator.get_str_attr("asm_string") or "")

    module.walk(visit)
    name = module.get_entry_func_name()
    types = module.get_function_signature(module.get_function(name))
    params = [8 if kind[0] == "*" else PARAMETER_BYTES.get(kind, 0) for kind in types]
    return {"name": name, "ops": ops, "asm": asm, "params": params}


def compile_text(ttir, requested, sm):
    """(cubin, facts)"""
    target = GPUTarget("cuda", sm, WARP_SIZE)
    options = options_of(requested, sm)
    path = os.path.join(TMP, "source.ttir")
    with open(path, "wb") as file:
        file.write(ttir)
    facts = facts_of(path, make_backend(target))
    kernel = triton.compile(path, target=target, options=options)
    facts["metadata"] = {name: value for name, value in kernel.metadata._asdict().items() if name not in UNSAID}
    return kernel.asm["cubin"], facts


def compile_request(request, fds):
    n_ttir, n_options = request["text_bytes"], request["options_bytes"]
    text = os.pread(fds[0], n_ttir + n_options, 0)
    if len(text) != n_ttir + n_options:
        return wire.Reply(wire.BAD_REQUEST, "input is shorter than announced")
    cubin, facts = compile_text(text[:n_ttir], json.loads(text[n_ttir:]), request["sm"])
    told = json.dumps(facts, default=vars).encode()
    total = HEADER.size + len(cubin) + len(told)
    room = os.fstat(fds[1]).st_size
    if total > room:
        return wire.Reply(wire.MEMORY, "%d bytes of results, more than %d" % (total, room))
    with mmap.mmap(fds[1], room) as out:
        out[:total] = HEADER.pack(len(cubin), len(told)) + cubin + told
    reply = wire.Reply()
    reply.value = total
    return reply


def was_killed(error):
    """Whether a signal ended ptxas: then its end is no evidence about the input."""
    cause = error.__cause__ or error.__context__
    return isinstance(cause, subprocess.CalledProcessError) and cause.returncode < 0


def handle(request, fds):
    try:
        return compile_request(request, fds)
    except Refused as error:
        return wire.Reply(wire.BAD_REQUEST, str(error))
    except MemoryError:
        return wire.Reply(wire.MEMORY, "out of memory")
    except OSError as error:  # no room, no process: trouble of this machine
        return wire.Reply(wire.MEMORY, "%s: %s" % (type(error).__name__, error))
    except Exception as error:  # any error of the compiler on hostile text
        if was_killed(error):
            return wire.Reply(wire.MEMORY, "ptxas was killed")
        return wire.Reply(wire.EXCEPTION, "%s: %s" % (type(error).__name__, error))
    finally:
        for fd in fds:
            os.close(fd)


WARM_UP = b"""module {
  tt.func public @warm(%p: !tt.ptr<f32>) {
    %r = tt.make_range {end = 32 : i32, start = 0 : i32} : tensor<32xi32>
    %s = tt.splat %p : !tt.ptr<f32> -> tensor<32x!tt.ptr<f32>>
    %a = tt.addptr %s, %r : tensor<32x!tt.ptr<f32>>, tensor<32xi32>
    %v = tt.load %a : tensor<32x!tt.ptr<f32>>
    tt.store %a, %v : tensor<32x!tt.ptr<f32>>
    tt.return
  }
}
"""


def take_ir_of_front_end():
    """Make Triton run all passes on a file of IR. It treats such a file as the output of its first stage, and would omit the
    passes of that stage."""
    add_stages = CUDABackend.add_stages

    def add_both(self, stages, *rest):
        add_stages(self, stages, *rest)
        ttir, ttgir = stages["ttir"], stages["ttgir"]
        stages["ttgir"] = lambda module, metadata: ttgir(ttir(module, metadata), metadata)

    CUDABackend.add_stages = add_both


def prepare():
    """Called once, in the zygote: compiles for the first time, so that everything that loads lazily is loaded."""
    knobs.compilation.store_binary_only = True
    take_ir_of_front_end()
    compile_text(WARM_UP, {}, 90)


def main(channel):
    wire.serve(channel, handle)
