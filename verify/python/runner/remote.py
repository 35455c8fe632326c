# SPDX-License-Identifier: MIT
"""Requests machine code of Triton IR, and on the CPU the IR of claims (ttir_image.py), from the judge
(verify/provenance/compiler.h): compiled once for all lanes and verifications, and proved by that. What the judge refuses, and
everything when the judge has gone, is compiled here as Triton does: an error of the compiler then reaches the candidate, and code
has no proof.
"""

import json
import os
import struct
import threading

from triton.backends.nvidia.compiler import CUDABackend

QUESTION = struct.Struct("<QQQ")
ANSWER = struct.Struct("<QQ")
AFTER_TTIR = ("ttgir", "llir", "ptx", "cubin")


class Judge:
    """The judge's end of the socket; one request at a time."""

    def __init__(self):
        self.fd = -1
        self.lock = threading.Lock()

    def read(self, n):
        parts = []
        while n > 0:
            part = os.read(self.fd, n)
            if not part:
                raise OSError("the judge compiles no more")
            parts.append(part)
            n -= len(part)
        return b"".join(parts)

    def write(self, data):
        while data:
            data = data[os.write(self.fd, data):]

    def ask(self, ttir, options, sm):
        """(code, facts), or None."""
        with self.lock:
            if self.fd < 0:
                return None
            try:
                self.write(QUESTION.pack(len(ttir), len(options), sm) + ttir + options)
                n_code, n_facts = ANSWER.unpack(self.read(ANSWER.size))
                code, facts = self.read(n_code), self.read(n_facts)
            except OSError:
                os.close(self.fd)
                self.fd = -1
                return None
        return (code, json.loads(facts)) if code else None

    def compile(self, ttir, options, sm):
        """(cubin, metadata), or None."""
        found = self.ask(ttir, options, sm)
        return found and (found[0], found[1]["metadata"])

    def make_ir(self, claims):
        """(IR, facts) of the judge's kernel.py and these claims, or None."""
        return self.ask(b"", claims, 0)


JUDGE = Judge()


def replace_stages(stages, options, sm):
    """Of the stages after the IR only the last gives a result, unless the judge refused."""
    made = []

    def first(module, metadata):
        found = JUDGE.compile(str(module).encode(), json.dumps(vars(options), default=str).encode(), sm)
        if found is None:
            return own["ttgir"](module, metadata)
        made.append(found[0])
        metadata.update(found[1])
        return ""

    def between(name):
        return lambda module, metadata: "" if made else own[name](module, metadata)

    def last(module, metadata):
        return made.pop() if made else own["cubin"](module, metadata)

    own = {name: stages[name] for name in AFTER_TTIR}
    stages.update({"ttgir": first, "llir": between("llir"), "ptx": between("ptx"), "cubin": last})


def install():
    """Once, in the zygote."""
    add_stages = CUDABackend.add_stages

    def add_and_replace(self, stages, options, *rest):
        add_stages(self, stages, options, *rest)
        if JUDGE.fd >= 0 and tuple(stages) == ("ttir",) + AFTER_TTIR:
            replace_stages(stages, options, self.target.arch)

    CUDABackend.add_stages = add_and_replace


def use(fd):
    """From now on this process requests code from the judge."""
    JUDGE.fd = fd
