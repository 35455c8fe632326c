# SPDX-License-Identifier: MIT
"""One digest of everything besides the requests that affects a worker's answers. It is part of the key of answers that are kept
from one verification to the next (verify/lane/truth_cache.h, proof_cache.h)."""

import glob
import hashlib
import os
import sys

OWN_SOURCES = ("/kgb/runner/*.py", "/kgb/reference/*.py", "/kgb/compiler/*.py")
# Files below the directories of torch, triton and NVIDIA's packages. Files that are too large to read on every start count by
# size and time, not by their bytes.
TRITON_FILES = ("_C/*.so", "compiler/*.py", "backends/*/*.py", "backends/nvidia/bin/*", "backends/nvidia/lib/*")
TORCH_FILES = ("version.py", "lib/*.so*")
NVIDIA_FILES = ("nvidia/*/lib/*.so*",)


def below(directory, patterns):
    return sorted(path for pattern in patterns for path in glob.glob(os.path.join(directory, pattern)))


def stamps(paths):
    for path in paths:
        found = os.stat(path)
        yield "%s %d %d" % (path, found.st_size, found.st_mtime_ns)


def sources():
    for path in below("/", OWN_SOURCES):
        with open(path, "rb") as file:
            yield "%s %s" % (path, hashlib.sha256(file.read()).hexdigest())


def identity(role):
    """64 hexadecimal digits. The libraries must have been imported."""
    import triton
    facts = [role, sys.version, os.uname().machine, os.confstr("CS_GNU_LIBC_VERSION"), triton.__version__, *sources()]
    facts += stamps(below(os.path.dirname(triton.__file__), TRITON_FILES))
    if role != "compile":
        import torch
        home = os.path.dirname(torch.__file__)
        facts += [torch.__version__, torch.backends.cpu.get_cpu_capability()]
        facts += stamps(below(home, TORCH_FILES) + below(os.path.dirname(home), NVIDIA_FILES))
    return hashlib.sha256("\n".join(facts).encode()).hexdigest()
