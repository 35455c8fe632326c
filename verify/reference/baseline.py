# SPDX-License-Identifier: MIT
"""The trusted worker that calls what candidates are measured against, so that its work on the GPU is written down like
theirs. Takes the requests of runner.py; "load" and the names of functions ("entry") are those of reference.py.
"""

import on_cuda
import reference
import runner
import wire


class Baseline(runner.Runner):
    def __init__(self):
        super().__init__(b"")
        self.functions = reference.Reference()

    def do_load(self, request, fds):
        return self.functions.do_load(request, fds)

    def entry(self, name):
        return self.functions.function(name)


def main(channel):
    on_cuda.take_over_memory()
    wire.serve(channel, Baseline().handle)
