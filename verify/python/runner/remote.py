# SPDX-License-Identifier: MIT
"""Requests from the judge (verify/provenance/compiler.h) the IR of claims (ttir_image.py), and on a GPU machine code for images
that Triton's front end makes in this process. The judge compiles once for all lanes and verifications. Triton compiles here
whatever the judge refuses, and everything after the judge's end: so the candidate gets errors of the compiler, and the code has
no proof.
"""

import json
import os
import struct
import threading

from triton.backends.nvidia.compiler import CUDABackend
from triton.compiler.compiler import ASTSource

import ttir_image

QUESTION = struct.Struct("<QQQ")
ANSWER = struct.Struct("<QQ")
STAGES = ("ttir", "ttgir", "llir", "ptx", "cubin")


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
                raise OSError("the judge has closed the socket")
            parts.append(part)
            n -= len(part)
        return b"".join(parts)

    def write(self, data):
        while data:
            data = data[os.write(self.fd, data):]

    def ask(self, image, options, sm):
        """(code, facts), or None."""
        with self.lock:
            if self.fd < 0:
                return None
            try:
                self.write(QUESTION.pack(len(image), len(options), sm) + image + options)
                n_code, n_facts = ANSWER.unpack(self.read(ANSWER.size))
                code, facts = self.read(n_code), self.read(n_facts)
            except OSError:
                os.close(self.fd)
                self.fd = -1
                return None
        return (code, json.loads(facts)) if code else None

    def compile(self, image, options, sm):
        """(cubin, metadata), or None."""
        found = self.ask(image, options, sm)
        return found and (found[0], found[1]["metadata"])

    def make_ir(self, claims):
        """(IR, facts) of the judge's kernel.py and these claims, or None."""
        return self.ask(b"", claims, ttir_image.TARGET.arch)


class Made(threading.local):
    image = None  # of the module that this thread made last; the first stage takes it


JUDGE = Judge()
MADE = Made()


def replace_stages(stages, options, sm):
    """Replace the stages of Triton's compiler: the first requests the cubin from the judge, those between do nothing, and the
    last returns it. If the judge refuses, all stages do their own work."""
    made = []

    def first(module, metadata):
        image, MADE.image = MADE.image, None
        found = JUDGE.compile(image, json.dumps(vars(options), default=str).encode(), sm) if image else None
        if found is None:
            return own["ttir"](module, metadata)
        made.append(found[0])
        metadata.update(found[1])
        return str(module)

    def between(name):
        return lambda module, metadata: "" if made else own[name](module, metadata)

    def last(module, metadata):
        return made.pop() if made else own["cubin"](module, metadata)

    own = {name: stages[name] for name in STAGES}
    stages.update({"ttir": first, **{name: between(name) for name in STAGES[1:-1]}, "cubin": last})


def install():
    """Once, in the zygote, before a candidate is loaded."""
    ttir_image.prepare()
    add_stages, make_ir = CUDABackend.add_stages, ASTSource.make_ir

    def add_and_replace(self, stages, options, *rest):
        add_stages(self, stages, options, *rest)
        if JUDGE.fd >= 0 and tuple(stages) == STAGES:
            replace_stages(stages, options, self.target.arch)

    def make_image(self, target, options, *rest):
        if JUDGE.fd < 0:
            return make_ir(self, target, options, *rest)
        with ttir_image.noting() as notes:
            module = make_ir(self, target, options, *rest)
        MADE.image = ttir_image.image_of(self, target, options, notes, module)
        return module

    CUDABackend.add_stages = add_and_replace
    ASTSource.make_ir = make_image


def use(fd):
    """Request code from the judge through this descriptor from now on."""
    JUDGE.fd = fd
