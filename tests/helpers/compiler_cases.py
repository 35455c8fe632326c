# SPDX-License-Identifier: MIT
"""Requests code from the judge's compiler as a runner does, without a GPU. compiler_driver runs it and names the maker of each cubin.

    python compiler_cases.py RUNNER_DIR WORK_DIR (styles | threads | rules | refused | hostile)

styles   every style of provenance_kernels, and one with other options for the same IR: the same facts for a launch as
         Triton's own compilation gives
threads  one kernel, requested at both sockets at once
rules    IR that compiles but that no proof may rest on
refused  an option that the judge does not accept: compiled here
hostile  requests that break the protocol: the judge hangs up, and kernels are compiled here
"""

import os
import struct
import sys
import threading

sys.path[:0] = [sys.argv[1], os.path.dirname(os.path.abspath(__file__))]
WORK = sys.argv[2]
os.environ["TRITON_CACHE_DIR"] = os.path.join(WORK, "none")
SEATS = [int(word) for word in os.environ["KGB_SEATS"].split()]

import provenance_cases  # noqa: E402
import provenance_kernels  # noqa: E402
import remote  # noqa: E402
import triton  # noqa: E402
from triton.backends.compiler import GPUTarget  # noqa: E402
from triton.compiler import ASTSource  # noqa: E402

# The facts that a launch depends on.
FACTS = ("name", "shared", "num_warps", "num_ctas", "cluster_dims", "global_scratch_size", "global_scratch_align",
         "profile_scratch_size", "launch_cooperative_grid", "launch_pdl", "tensordesc_meta", "tmem_size")


def compile_style(style, cache, **more):
    os.environ["TRITON_CACHE_DIR"] = os.path.join(WORK, cache)
    function, types, block, options = style
    return triton.compile(ASTSource(function, types, {"BLOCK": block}), target=GPUTarget("cuda", 90, 32),
                          options={**options, **more})


def tell(cubin):
    tell.count += 1
    path = os.path.join(WORK, "%d.cubin" % tell.count)
    with open(path, "wb") as file:
        file.write(cubin)
    print(path)


tell.count = 0


def facts(kernel):
    return {name: getattr(kernel.metadata, name, None) for name in FACTS}


def styles():
    wanted = dict(provenance_kernels.STYLES)
    function, types, block, options = wanted["add"]
    wanted["add_warps"] = (function, types, block, {**options, "num_warps": 8})
    local = {name: compile_style(style, "local") for name, style in wanted.items()}
    remote.install()
    remote.use(SEATS[0])
    for name, style in wanted.items():
        kernel = compile_style(style, "remote")
        if facts(kernel) != facts(local[name]):
            sys.exit("%s: %s, not %s" % (name, facts(kernel), facts(local[name])))
        if kernel.asm["ptx"] or not local[name].asm["ptx"]:
            sys.exit("%s: compiled here" % name)
        tell(kernel.asm["cubin"])


def threads():
    remote.install()
    text = str(compile_style(provenance_kernels.STYLES["add"], "local").asm["ttir"]).encode()
    judges = [remote.Judge() for _ in SEATS]
    answers = [None] * len(judges)

    def ask(i):
        judges[i].fd = SEATS[i]
        answers[i] = judges[i].compile(text, b"{}")

    running = [threading.Thread(target=ask, args=(i,)) for i in range(len(judges))]
    for one in running:
        one.start()
    for one in running:
        one.join()
    for cubin, _ in answers:
        tell(cubin)


def rules():
    judge = remote.Judge()
    judge.fd = SEATS[0]
    for text in (provenance_cases.DOUBLED, provenance_cases.with_asm(provenance_cases.GLOBAL),
                 provenance_cases.with_asm(provenance_cases.INITIALIZED)):
        tell(judge.compile(text.encode(), b"{}")[0])


def refused():
    remote.install()
    remote.use(SEATS[0])
    tell(compile_style(provenance_kernels.STYLES["sine"], "refused", ptx_options="--verbose").asm["cubin"])
    tell(compile_style(provenance_kernels.STYLES["add"], "taken").asm["cubin"])


def hostile():
    for seat, header in zip(SEATS, (struct.pack("<QQ", 1 << 60, 1), struct.pack("<QQ", 0, 1 << 40))):
        os.write(seat, header)
        if os.read(seat, 1):
            sys.exit("an answer")
    remote.install()
    remote.use(SEATS[0])
    tell(compile_style(provenance_kernels.STYLES["add"], "hostile").asm["cubin"])


{"styles": styles, "threads": threads, "rules": rules, "refused": refused, "hostile": hostile}[sys.argv[3]]()
