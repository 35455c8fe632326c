# SPDX-License-Identifier: MIT
"""Whether a GPU can run a kernel, by the shared memory of its blocks and the number of blocks in its clusters. On a GPU, a launch
that exceeds a limit fails; the machine has neither limit (docs/machine.md, Shared memory).

`most` computes a bound from the text of the module. It is within LIMIT for almost all kernels; for the others, Triton's compiler
lays the memory out (`measure`), which takes several times as long as the module. The memory has two kinds of buffers. Scratch
belongs to one operation that moves elements between threads, is not larger than the operands, and ends with the operation, so that
all scratch can lie at one place. Held buffers are operands of tl.dot, tiles of descriptors, and data that a loop loads ahead, once
for each stage. Not proved: that a held buffer never parts scratch, and that Triton computes addresses anew rather than move them,
unless the kernel does. Of 419 modules for which an earlier bound was above LIMIT none took more than this one.
"""

import math
import re

from triton.backends.compiler import Language
from triton.backends.nvidia import compiler as nvidia

LIMIT = 227 << 10  # of a block on an H100
CLUSTER_BLOCKS = 16  # at most
TENSOR = re.compile(r"tensor<((?:[0-9]+x)+)((?:!tt\.ptr<)*)[a-z]+([0-9]+)")
NAME = r'@("[^"]*"|[^ (]+)\('
FUNCTION = re.compile(r" *tt\.func [a-z]+ " + NAME)
OPERATION = re.compile(r" *(?:%[^=]*= )?([a-z]+\.[a-z_]+)")
CALLED = re.compile(r"tt\.call " + NAME)
STAGES = re.compile(r"tt\.num_stages = ([0-9]+)")
UNCOVERED = re.compile(r"warp_specialize|loop_unroll_factor|dot_scaled|bf16x[36]")
MOVES = {"tt.trans", "tt.reshape", "tt.cat", "tt.join", "tt.split", "tt.gather"}  # of elements, also of pointers
AHEAD = "tt.dot ", "tt.descriptor_", "tt.num_stages"  # no loop of a module without these words loads ahead
POINTER_BYTES = 8
ALIGN = 1024  # bytes by which a held buffer may grow: its alignment and the barriers of its stages
OF_WARP = 32 * POINTER_BYTES  # least bytes of scratch for each warp, for tensors with fewer elements than threads


# ---- the bound ----

def elements(tensor):
    return math.prod(map(int, tensor[1][:-1].split("x")))


def size(tensor, least=1):
    """Bytes of a tensor, with at least `least` bytes for each element."""
    return elements(tensor) * (POINTER_BYTES if tensor[2] else max(least, int(tensor[3]) // 8))


def loaded(tensor):
    """Bytes of the elements to which a tensor of pointers points."""
    return elements(tensor) * (POINTER_BYTES if tensor[2].count("<") > 1 else max(1, int(tensor[3]) // 8))


class Function:
    def __init__(self):
        self.held = 0  # bytes
        self.called = []  # names


class Module:
    def __init__(self, text, n_stages):
        self.n_stages = n_stages  # number of stages for which a loop loads ahead
        self.scratch = 0
        self.functions = {}
        function = Function()
        for line in text.splitlines():
            found = FUNCTION.match(line)
            if found:
                function = self.functions.setdefault(found[1], Function())
            function.called += CALLED.findall(line)
            tensors = list(TENSOR.finditer(line))
            if tensors:
                self.add(line, tensors, function)

    def add(self, line, tensors, function):
        # A reduction or scan ends with the types of all operands, which share its scratch.
        of_all = sum if line.lstrip().startswith("})") else max
        operation = OPERATION.match(line)
        operation = operation[1] if operation else ""
        moved = [size(tensor) for tensor in tensors if operation in MOVES or not tensor[2]]
        self.scratch = max(self.scratch, of_all(moved or [0]))
        if operation == "tt.dot":
            # 8-bit operands may be converted first, and tf32x3 makes three products.
            function.held += sum(size(operand, 2) + ALIGN for operand in tensors[:2]) * (3 if "tf32x3" in line else 1)
        elif operation == "tt.load" and self.n_stages:
            function.held += self.n_stages * loaded(tensors[0]) + ALIGN
        elif operation.startswith("tt.descriptor_"):
            function.held += max(1, self.n_stages) * max(map(size, tensors)) + ALIGN

    def held_by(self, name, known):
        """Bytes of a function and of those that it calls."""
        if name not in known:
            known[name] = 0
            function = self.functions.get(name) or Function()
            known[name] = function.held + sum(self.held_by(called, known) for called in function.called)
        return known[name]


def most(text, name, options):
    """A bound on the bytes that Triton takes for the kernel of this name; above LIMIT if the bound's rules do not cover the
    module."""
    if options.num_ctas > 1 or UNCOVERED.search(text) or text.count("tensor<") != len(TENSOR.findall(text)):
        return LIMIT + 1
    n_stages = max([options.num_stages, *map(int, STAGES.findall(text))])
    loads_ahead = n_stages > 1 and "scf." in text and any(word in text for word in AHEAD)
    module = Module(text, n_stages if loads_ahead else 0)
    held = module.held_by(name, {})
    if held and "noinline = true" in text or name not in module.functions:
        return LIMIT + 1
    return held + module.scratch + OF_WARP * options.num_warps


# ---- Triton's own layout of the memory ----

class LaidOut(Exception):
    """Ends code generation after the passes that lay the memory out."""


def measure(module, options, backend):
    """The bytes that Triton takes for the kernel of this module. Changes the module; raises the compiler's exceptions."""
    own, stages, metadata = nvidia.nvidia.passes.ttgpuir.add_allocate_shared_memory_nv, {}, {}

    def last(passes, *args):
        own(passes, *args)
        raise LaidOut(passes)

    backend.add_stages(stages, options, Language.TRITON)
    for stage in ("ttir", "ttgir"):
        module = stages[stage](module, metadata)
    nvidia.nvidia.passes.ttgpuir.add_allocate_shared_memory_nv = last
    try:
        stages["llir"](module, metadata)
    except LaidOut as made:
        made.args[0].run(module, "measure")
    finally:
        nvidia.nvidia.passes.ttgpuir.add_allocate_shared_memory_nv = own
    return module.get_int_attr("ttg.shared")


def must_be_laid_out(module, text, options):
    """Whether the upper bound is above the limit."""
    return most(text, module.get_entry_func_name(), options) > LIMIT


def facts(module, text, options, backend):
    """{} if the upper bound is within the limit. Else "shared": bytes that Triton takes, and "no_gpu": why no GPU can run the
    kernel, as far as they apply. Changes the module."""
    if options.num_ctas > CLUSTER_BLOCKS:
        return {"no_gpu": "its clusters have %d blocks, and those of a GPU at most %d" % (options.num_ctas, CLUSTER_BLOCKS)}
    if not must_be_laid_out(module, text, options):
        return {}
    try:
        taken = measure(module, options, backend)
    except MemoryError:
        raise
    except Exception as error:  # the compiler raises the same on a machine with a GPU
        return {"no_gpu": "Triton makes no code of it: %s: %s" % (type(error).__name__, error)}
    if taken <= LIMIT:
        return {"shared": taken}
    return {"shared": taken, "no_gpu": "its blocks take %d bytes of shared memory, and a GPU has %d" % (taken, LIMIT)}
