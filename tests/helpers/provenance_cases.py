# SPDX-License-Identifier: MIT
"""Requests code from the judge's compiler as a runner does, without a GPU. provenance_driver runs it and proves what it made.

    python provenance_cases.py RUNNER_DIR WORK_DIR (styles | threads | forged | refused | hostile | text FILE)
    python provenance_cases.py check EXPECTED OUTPUT

styles   every style of provenance_kernels, and one with other options for the same IR: the same facts for a launch as
         Triton's own compilation gives
threads  one kernel, requested at both sockets at once
forged   hostile or odd requests, and code that no request explains
refused  an option that the judge does not accept: compiled here
hostile  requests that break the protocol: the judge hangs up, and kernels are compiled here
text     the IR in FILE; prints the judge's answer to stderr
check    compares the lines that the driver printed with the file that `styles` or `forged` left in WORK_DIR, and prints one
         line per case, "PASS name" or "FAIL name: reason"
"""

import importlib.util
import json
import os
import struct
import sys
import threading

sys.path[:0] = [sys.argv[1], os.path.dirname(os.path.abspath(__file__))]
# A kernel with variants of its text; {code} is the assembly.
MODULE = """module {
  tt.func public @forged(%p: !tt.ptr<f32>) attributes {noinline = false} {
    %r = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32>
    %s = tt.splat %p : !tt.ptr<f32> -> tensor<128x!tt.ptr<f32>>
    %a = tt.addptr %s, %r : tensor<128x!tt.ptr<f32>>, tensor<128xi32>
    %v = tt.load %a : tensor<128x!tt.ptr<f32>>
    OPERATION
    tt.store %a, %w : tensor<128x!tt.ptr<f32>>
    tt.return
  }
}
"""


def module(operation):
    return MODULE.replace("OPERATION", operation)


def with_asm(text):
    return module('%w = tt.elementwise_inline_asm "' + text.replace("\n", "\\0A").replace('"', "\\22") +
                  '" {constraints = "=f,f", packed_element = 1 : i32, pure = false} %v : '
                  'tensor<128xf32> -> tensor<128xf32>')


DOUBLED = module("%w = arith.addf %v, %v : tensor<128xf32>")
CLAIMS = '{"kgb_ttir":1,"functions":[]}'
GLOBAL = "{ .global .u32 kept; .reg .u32 t; ld.global.u32 t, [kept]; st.global.u32 [kept], 7; mov.b32 $0, t; }"
INITIALIZED = GLOBAL.replace("kept;", "kept = 5;", 1)
# Ends the kernel's body, declares a variable of the module, and begins another function for the rest of the code.
SPLICED = """mov.b32 $0, $1; }
.global .u32 kept = 3;
.visible .func other() { .reg .b32 %r<200>; .reg .b64 %rd<99>; .reg .pred %p<9>; .reg .f32 %f<99>;
ld.global.u32 %r1, [kept]; st.global.u32 [kept], %r1;"""
# The helper's text ends its body and declares the driver's malloc, which the kernel after it calls.
DECLARED = """mov.b32 $0, $1; bra.uni LEAVE; LEAVE: ret; }
.extern .func (.param .b64 r) malloc (.param .b64 s);
.func (.param .b32 func_retval0) other() { .reg .b32 %r<200>; .reg .b64 %rd<99>; .reg .pred %p<9>;
.reg .f32 %f<99>; mov.b32 $0, 0;"""
ALLOCATED = ("{ .param .b64 s; .param .b64 p; .reg .b64 a; st.param.b64 [s], 64; call (p), malloc, (s); "
             "ld.param.b64 a, [p]; cvt.u32.u64 $0, a; }")
# A second kernel in the same file.
SECOND = """mov.b32 $0, $1; ret; }
.entry second() { .reg .b32 %r<200>; .reg .b64 %rd<99>; .reg .pred %p<9>; .reg .f32 %f<99>; mov.b32 $0, 0;"""


def heap():
    """A kernel that calls a helper and then allocates."""
    asm = with_asm("ASM")
    line = next(line for line in asm.splitlines() if "inline_asm" in line)
    helper = """
  tt.func private @helper(%v: tensor<128xf32>) -> tensor<128xf32> attributes {noinline = true} {
LINE
    tt.return %w : tensor<128xf32>
  }
}
""".replace("LINE", line.replace("ASM", DECLARED.replace("\n", "\\0A")))
    call = "    %h = tt.call @helper(%v) : (tensor<128xf32>) -> tensor<128xf32>\n"
    kernel = asm.replace(line, call + line.replace("ASM", ALLOCATED).replace("} %v :", "} %h :"))
    first = "module {\n"
    return first + helper.strip("\n").rstrip("}").rstrip() + "\n" + kernel[len(first):]


# The facts that a launch depends on.
FACTS = ("name", "shared", "num_warps", "num_ctas", "cluster_dims", "global_scratch_size", "global_scratch_align",
         "profile_scratch_size", "launch_cooperative_grid", "launch_pdl", "tensordesc_meta", "tmem_size")


def compile_style(style, cache, **more):
    """As Triton in a process whose cache is this directory."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource
    os.environ["TRITON_CACHE_DIR"] = os.path.join(sys.argv[2], cache)
    function, types, block, options = style
    return triton.compile(ASTSource(function, types, {"BLOCK": block}), target=GPUTarget("cuda", 90, 32),
                          options={**options, **more})


def facts(kernel):
    return {name: getattr(kernel.metadata, name, None) for name in FACTS}


def received(seat, n):
    parts = b""
    while len(parts) < n:
        part = os.read(seat, n - len(parts))
        if not part:
            raise EOFError("the judge hung up")
        parts += part
    return parts


def request(seat, ttir, options="{}", sm=90, claims=CLAIMS):
    """(cubin, facts or cause) of one request, by the protocol of verify/provenance/compiler.h."""
    image, options = ("%s\n%s" % (claims, ttir)).encode(), options.encode()
    data = struct.pack("<QQQ", len(image), len(options), sm) + image + options
    while data:
        data = data[os.write(seat, data):]
    n_cubin, n_facts = struct.unpack("<QQ", received(seat, 16))
    return received(seat, n_cubin), received(seat, n_facts).decode()


class Cases:
    """Cubins, and the result that the proof must give for each."""

    def __init__(self):
        self.expected = []

    def add(self, name, cubin, proof="triton", reason="", **more):
        path = os.path.join(sys.argv[2], name + ".cubin")
        with open(path, "wb") as file:
            file.write(cubin)
        print(path)
        self.expected.append({"name": name, "file": path, "proof": proof, "reason": reason, **more})

    def add_answer(self, name, answer, wanted):
        """A request without code, of which the cause must contain `wanted`."""
        cubin, cause = answer
        self.expected.append({"name": name, "refused": not cubin and wanted in cause, "cause": cause[:200]})

    def write(self):
        with open(os.path.join(sys.argv[2], "expected"), "w", encoding="utf-8") as file:
            json.dump(self.expected, file)


def load(path):
    """As a runner loads kernel.py, and what Triton makes of it is requested from now on as a runner does."""
    import remote
    remote.install()
    spec = importlib.util.spec_from_file_location("kernel", path)
    kernel = sys.modules["kernel"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(kernel)
    return kernel, remote


def kernels():
    return load(os.path.join(os.path.dirname(os.path.abspath(__file__)), "provenance_kernels.py"))


def styles(seats):
    provenance_kernels, remote = kernels()
    wanted = dict(provenance_kernels.STYLES)
    function, types, block, options = wanted["add"]
    wanted["add_warps"] = (function, types, block, {**options, "num_warps": 8})
    for name, style in provenance_kernels.OPTIONAL_STYLES.items():
        try:
            compile_style(style, "local")
            wanted[name] = style
        except Exception as error:
            print("SKIP %s: this Triton cannot compile it (%s)" % (name, type(error).__name__), file=sys.stderr)
    local = {name: compile_style(style, "local") for name, style in wanted.items()}
    remote.use(seats[0])
    cases = Cases()
    for name, style in wanted.items():
        kernel = compile_style(style, "remote")
        if facts(kernel) != facts(local[name]):
            sys.exit("%s: %s, not %s" % (name, facts(kernel), facts(local[name])))
        if kernel.asm["ptx"] or not local[name].asm["ptx"]:
            sys.exit("%s: compiled here" % name)
        cases.add(name, kernel.asm["cubin"], inline_asm=1 if name == "assembly" else 0)
    cases.write()


def threads(seats):
    seats = seats[:2]
    answers = [None] * len(seats)

    def ask(i):
        answers[i] = request(seats[i], DOUBLED)

    running = [threading.Thread(target=ask, args=(i,)) for i in range(len(seats))]
    for one in running:
        one.start()
    for one in running:
        one.join()
    cases = Cases()
    for i, (cubin, _) in enumerate(answers):
        cases.add("thread%d" % i, cubin, "none")


def patch_info(cubin):
    """The same code with another number of registers."""
    at = cubin.index(b"\x04\x2f\x08\x00")  # EIATTR_REGCOUNT: symbol, number
    return cubin[:at + 8] + bytes([cubin[at + 8] ^ 0x10]) + cubin[at + 9:]


GENERATED = """import triton
import triton.language as tl


@triton.jit
def %s(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(out + at, tl.load(x + at, inside) * tl.load(y + at, inside), inside)
"""


def generated(cases, name, function, line, reason):
    """What a compiler of torch does at run time: writes a file, imports it, launches its kernel."""
    path = os.path.join(sys.argv[2], name + ".py")
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n" * (line - 1 - GENERATED.count("\n", 0, GENERATED.index("@"))) + GENERATED % function)
    spec = importlib.util.spec_from_file_location("kernel", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    _, types, block, options = sys.modules["kernel"].STYLES["add"]
    kernel = compile_style((getattr(module, function), types, block, options), name)
    if kernel.asm["ptx"]:
        sys.exit("%s: compiled here" % name)
    cases.add(name, kernel.asm["cubin"], "none", reason)


def images(remote, wanted):
    """{name: (claims, IR)} that the runner sends for these styles."""
    sent = {}
    ask = remote.JUDGE.compile

    def noted(image, *rest):
        sent[name] = image.decode().split("\n", 1)
        return ask(image, *rest)

    remote.JUDGE.compile = noted
    for name, style in wanted.items():
        compile_style(style, "images")
    remote.JUDGE.compile = ask
    return sent


def forged(seats):
    kernel, remote = kernels()
    remote.use(seats[0])
    cases = Cases()
    sent = images(remote, {name: kernel.STYLES[name] for name in ("add", "sine", "scaled")})
    other = "kernel.py gives other IR"
    claims, text = sent["add"]
    cubin, _ = request(seats[0], DOUBLED, claims=claims)
    cases.add("by_hand", cubin, "none", other)
    cases.add("other_kernel", request(seats[0], sent["sine"][1].replace("@sine", "@add"), claims=claims)[0], "none", other)
    cases.add("other_constant", request(seats[0], text.replace("1024", "512"), claims=claims)[0], "none", other)
    claims, text = sent["scaled"]
    cases.add("other_variable", request(seats[0], text.replace("3.000000e+00", "4.000000e+00"), claims=claims)[0], "none", other)
    cases.add("claims_of_nothing", request(seats[0], DOUBLED, '{"num_warps": 8}')[0], "none", "the judge cannot make it from kernel.py")
    place = kernel.add.starting_line_number
    generated(cases, "generated", "triton_poi_fused_add_0", place, "kernel.py has no function 'triton_poi_fused_add_0'")
    generated(cases, "generated_twin", "add", place, other)
    claims, text = sent["sine"]
    cases.add("other_architecture", request(seats[0], text, sm=80, claims=claims)[0], "none", "code for sm_80")
    cases.add("longer_by_a_byte", cubin + b"x", "none", "did not make it")
    cases.add("changed_resources", patch_info(cubin), "none", "did not make it")
    for name, options, sm, cause in (
            ("linked_code", '{"extern_libs": [["mine", "/tmp/mine.bc"]]}', 90, "links other code"),
            ("replaced_stage", '{"ir_override": "/tmp/mine.ptx"}', 90, "option ir_override"),
            ("ptxas_writes", '{"ptx_options": "-o /tmp/x"}', 90, "option ptx_options"),
            ("ptxas_reads", '{"ptx_options": "--options-file /etc/passwd"}', 90, "option ptx_options"),
            ("instrumented", '{"instrumentation_mode": "consan"}', 90, "instrumentation_mode"),
            ("other_gpu", '{"arch": "sm80"}', 90, "options for 'sm80'"),
            ("no_such_gpu", "{}", 7, ""),
            ("text_for_a_number", '{"num_stages": "3"}', 90, "option num_stages"),
            ("options_are_a_list", "[]", 90, "no object"),
            ("options_are_nothing", "", 90, "JSONDecodeError")):
        cases.add_answer(name, request(seats[0], DOUBLED, options, sm), cause)
    cases.add_answer("no_ir", request(seats[0], "module { tt.func"), "")
    cases.add_answer("deep_ir", request(seats[0], "module { %a = \"x\"() : () -> tuple<" + "tuple<" * 100000), "")
    for name, text, reason in (
            ("kept_variable", with_asm(GLOBAL), "has 4 bytes of memory that outlive a launch"),
            ("kept_initialized", with_asm(INITIALIZED), "uses the variable"),
            ("foreign_operator", DOUBLED.replace("tt.return", "llvm.inline_asm \"\", \"\" : () -> ()\n    tt.return"),
             "contains 'llvm.inline_asm'"),
            ("spliced_assembly", with_asm(SPLICED), "uses the variable 'kept'"),
            ("second_kernel", with_asm(SECOND), "holds 2 kernels"),
            ("heap", heap(), "calls the driver's 'malloc'")):
        cubin, cause = request(seats[0], text)
        if cubin:
            cases.add(name, cubin, "none", reason)
        else:  # this ptxas refuses it by itself
            cases.add_answer(name, (cubin, cause), "")
    cases.write()


def refused(seats):
    provenance_kernels, remote = kernels()
    remote.use(seats[0])
    cases = Cases()
    cases.add("refused", compile_style(provenance_kernels.STYLES["sine"], "refused", ptx_options="--verbose").asm["cubin"])
    cases.add("taken", compile_style(provenance_kernels.STYLES["add"], "taken").asm["cubin"])


def hostile(seats):
    provenance_kernels, remote = kernels()
    for seat, header, rest in zip(seats, ((1 << 60, 1, 90), (1, 1, 1 << 40), (len(DOUBLED), 2, 90)), ("", "", DOUBLED + "{}")):
        os.write(seat, struct.pack("<QQQ", *header) + rest.encode())
        if os.read(seat, 1):
            sys.exit("an answer")
    remote.use(seats[0])
    Cases().add("hostile", compile_style(provenance_kernels.STYLES["add"], "hostile").asm["cubin"])


def text(seats):
    with open(sys.argv[4], encoding="utf-8") as file:
        cubin, cause = request(seats[0], file.read())
    print(cause, file=sys.stderr)
    with open(os.path.join(sys.argv[2], "scale.cubin"), "rb") as file:
        Cases().add("text", cubin or file.read())


def check(expected, output):
    with open(expected, encoding="utf-8") as file:
        cases = json.load(file)
    with open(output, encoding="utf-8") as file:
        lines = {line.get("file"): line for line in map(json.loads, file)}
    for case in cases:
        line = lines.get(case.get("file"), {})
        wrong = [] if case.get("refused", True) else ["the judge answered: %s" % case["cause"]]
        wrong += ["%s is '%s'" % (key, line.get(key)) for key in ("proof", "inline_asm") if line.get(key) != case.get(key, line.get(key))]
        if "file" in case and (line.get("owner") == "triton") != (case["proof"] == "triton"):
            wrong.append("owner is '%s'" % line.get("owner"))
        if case.get("reason", "") not in line.get("reason", "") or (case.get("proof") == "none") != bool(line.get("reason")):
            wrong.append("reason is '%s'" % line.get("reason"))
        told = case.get("cause") or line.get("reason")
        print("FAIL %s: %s" % (case["name"], "; ".join(wrong)) if wrong else "PASS %s (%s)" % (case["name"], told or "proved"))


if __name__ == "__main__":
    if sys.argv[1] == "check":
        check(*sys.argv[2:])
    else:
        os.environ["TRITON_CACHE_DIR"] = os.path.join(sys.argv[2], "none")
        globals()[sys.argv[3]]([int(word) for word in os.environ["KGB_SEATS"].split()])
