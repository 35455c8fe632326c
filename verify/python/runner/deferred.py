# SPDX-License-Identifier: MIT
"""Kernels of a runner on a GPU whose machine code is made only when something needs it. In a call that is only recorded, a launch
is an operation of the record that names the kernel by its image (ttir_image.py), as on the CPU, and nothing runs: the judge decides
afterwards whether the machine for Triton's IR or a GPU replays it, so that no code here can depend on that.
"""

import triton.compiler
from triton.compiler.compiler import CompiledKernel, make_backend
from triton.runtime import driver

import launch_words
import launcher
import only_records
import remote
import ttir_image


# Attributes of a compiled kernel for which its machine code is made.
OF_MACHINE_CODE = {"asm", "hash", "kernel", "metadata", "metadata_group", "module", "n_max_threads", "n_regs", "n_spills"}


class State:
    """The state of this process."""

    def __init__(self):
        self.trace = None  # the library that writes the record


STATE = State()


def is_deferrable(src, options, module, facts):
    """Whether the judge can make a launch on a GPU from a launch by the image. A descriptor needs a map of the driver or memory of
    an allocator, and an error of a launch comes from the driver."""
    types = tuple(src.signature.values())
    return not (any(isinstance(kind, str) and kind.startswith(("tensordesc", "nvTmaDesc")) for kind in flat(types)) or
                "tt.make_tensor_descriptor" in str(module) or options.num_ctas != 1 or options.launch_cooperative_grid or
                "no_gpu" in facts)


def flat(types):
    for kind in types:
        if isinstance(kind, str):
            yield kind
        else:
            yield from flat(kind)


class Deferred(CompiledKernel):
    """A compiled kernel, which makes its machine code for a launch, or when an attribute needs it."""

    packed_metadata = function = None  # Triton passes both to `run`, which does not need them

    def __init__(self, src, target, options, compile_now):
        self.src = src
        self.compile_now = compile_now
        self.compiled = self.number = None
        self.n_threads = target.warp_size * options.num_warps
        self.image, self.name, module, facts = ttir_image.make(src.fn, src.signature, src.constants, src.attrs, options,
                                                               remote.JUDGE.make_ir)
        self.is_deferrable = is_deferrable(src, options, module, facts)
        self._run = self.launch

    def __getattr__(self, name):
        if name not in OF_MACHINE_CODE:
            raise AttributeError("'CompiledKernel' object has no attribute '%s'" % name)
        return getattr(self.ready(), name)

    def ready(self):
        if self.compiled is None:
            self.compiled = self.compile_now()
        self.compiled._init_handles()
        return self.compiled

    def _init_handles(self):
        pass

    def launch(self, x, y, z, stream, function, packed_metadata, launch_metadata, enter_hook, exit_hook, *values):
        if not only_records.STATE.on:
            real = self.ready()
            real.run(x, y, z, stream, real.function, real.packed_metadata, launch_metadata, enter_hook, exit_hook, *values)
            return
        if not self.is_deferrable:
            only_records.refuse()
        if enter_hook is not None:
            enter_hook(launch_metadata)
        self.record(launch_words.grid_of(x, y, z), stream,
                    launch_words.packed(self.src.signature.values(), values, launcher.address_of))
        if exit_hook is not None:
            exit_hook(launch_metadata)

    def record(self, grid, stream, params):
        if self.number is None:
            self.number = STATE.trace.load(self.image)
        if 0 not in grid:
            STATE.trace.launch(self.number, self.name, grid, self.n_threads, stream, params)


def install(trace):
    """Called once, in the zygote, after remote.install()."""
    STATE.trace = trace
    own = triton.compiler.compile

    def compile_later(src, target=None, options=None, **rest):
        if remote.JUDGE.fd < 0:
            return own(src, target=target, options=options, **rest)
        target = target or driver.active.get_current_target()
        ttir_image.TARGET = target
        parsed = make_backend(target).parse_options(dict(options or {}))

        def compile_now():
            return own(src, target=target, options=options, **rest)

        try:
            return Deferred(src, target, parsed, compile_now)
        except ttir_image.Unclaimed:
            if only_records.STATE.on:
                only_records.refuse()
            return compile_now()

    triton.compiler.compile = compile_later
