# SPDX-License-Identifier: MIT
"""The trusted worker that calls the baseline, so that its work on the GPU is recorded like a candidate's. Serves the requests of
runner.py; "load" and the names of functions ("entry") are those of reference.py.
"""

import os

import torch

import on_cuda
import reference
import runner
import wire


class Baseline(runner.Runner):
    def __init__(self, compiled):
        super().__init__(b"", "")
        self.functions = reference.Reference()
        self.compiled = {} if compiled else None

    def do_load(self, request, fds):
        return self.functions.do_load(request, fds)

    def entry(self, name):
        function = self.functions.function(name)
        if self.compiled is None:
            return function
        if name not in self.compiled:
            self.compiled[name] = torch.compile(lambda *args, **kwargs: function(*args, **kwargs), dynamic=False)
        return self.compiled[name]


def warm_up():
    """Called once, in a spare worker: everything that needs a CUDA context, after torch's memory comes from the library."""
    on_cuda.take_over_memory()
    on_cuda.Platform()


def main(channel, compiled):
    if compiled:
        os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"  # compile in this process: it starts no others
    if not on_cuda.TRACE:
        on_cuda.take_over_memory()
    wire.serve(channel, Baseline(compiled).handle)
