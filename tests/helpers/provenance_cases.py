# SPDX-License-Identifier: MIT
"""Has the judge prove honest kernels and refuse forged claims of provenance, without a GPU.

    python provenance_cases.py --driver FILE --kgbrun FILE --data DIR --work DIR [--sm N]

This program compiles the kernels as a candidate's process would; the judge's worker compiles them again. Prints one line per
case, "PASS name" or "FAIL name: reason", and ends with status 1 when a case failed.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
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


class Maker:
    """Compiles as a candidate's process would, into a separate cache."""

    def __init__(self, work, sm):
        self.cache = os.path.join(work, "cache")
        self.work = work
        self.sm = sm
        os.environ["TRITON_CACHE_DIR"] = self.cache
        os.makedirs(self.cache, exist_ok=True)
        sys.path.insert(0, HERE)
        import provenance_kernels
        import triton
        from triton.backends.compiler import GPUTarget
        from triton.compiler import ASTSource
        self.triton, self.source, self.kernels = triton, ASTSource, provenance_kernels
        self.target = GPUTarget("cuda", sm, 32)

    def compile_style(self, style):
        function, types, block, options = style
        source = self.source(function, types, {"BLOCK": block})
        return self.triton.compile(source, target=self.target, options=options)

    def compile_text(self, text):
        path = os.path.join(self.work, "forged.ttir")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return self.triton.compile(path, target=self.target).asm["cubin"]


class Cases:
    """Images and the result that the proof must give for each."""

    def __init__(self, data, work):
        sys.path.insert(0, os.path.join(data, "verify/python/runner"))
        import claims
        self.collector = claims
        self.work = work
        self.claims = []
        self.cases = []

    def add(self, name, image, claim, proof, reason="", inline_asm=None):
        """A claim about this image, whatever cubin it was made for. Bytes after the end of the file make each image unique."""
        image = image + b"case %d" % len(self.cases)
        path = os.path.join(self.work, name + ".cubin")
        with open(path, "wb") as file:
            file.write(image)
        if claim is not None:
            self.claims.append(dict(claim, cubin_sha256=hashlib.sha256(image).hexdigest()))
        self.cases.append((name, path, proof, reason, inline_asm))

    def collect(self, cache):
        return {entry["name"]: entry for entry in json.loads(self.collector.collect(cache))["claims"]}

    def run(self, arguments):
        path = os.path.join(self.work, "claims.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"schema": "kgb.claims/1", "claims": self.claims}, file)
        command = [arguments.driver, "prove", "--together", "--python", sys.executable, "--data", arguments.data, "--kgbrun",
                   arguments.kgbrun, "--sm", str(arguments.sm), "--claims", path, "--proofs", os.path.join(self.work, "proofs")]
        command += [case[1] for case in self.cases]
        return self.run_once(command) >= 0 and self.check_recalled(self.run_once(command))

    def run_once(self, command):
        """The number of compilations that an earlier run had kept; -1 after a fault."""
        done = subprocess.run(command, stdout=subprocess.PIPE, check=False)
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        if done.returncode != 0:
            print("FAIL driver: status %d after %d of %d cases" % (done.returncode, len(lines), len(self.cases)))
            return -1
        return lines[-1]["recalled"] if all([self.check(case, line) for case, line in zip(self.cases, lines)]) else -1

    def check_recalled(self, n):
        """In the second run every proof comes from the first, except those of kernels with several results."""
        proved = [case[1] for case in self.cases if case[2] == "triton"]
        several = {claim["cubin_sha256"] for claim in self.claims if "warp_specialize" in claim["ttir"]}
        wanted = sum(self.digest(path) not in several for path in proved)
        print("%s recalled (%d of %d proofs, %d have several results)" % (
            "PASS" if n == wanted else "FAIL", n, len(proved), len(proved) - wanted), flush=True)
        return n == wanted

    @staticmethod
    def digest(path):
        with open(path, "rb") as file:
            return hashlib.sha256(file.read()).hexdigest()

    @staticmethod
    def check(case, line):
        name, _, proof, reason, inline_asm = case
        wrong = []
        if line["proof"] != proof:
            wrong.append("proof is '%s', not '%s'" % (line["proof"], proof))
        if (line["owner"] == "triton") != (proof == "triton"):
            wrong.append("owner is '%s'" % line["owner"])
        if reason not in line["reason"] or (proof == "none") != (line["reason"] != ""):
            wrong.append("reason is '%s', not '%s'" % (line["reason"], reason))
        if inline_asm is not None and line["inline_asm"] != inline_asm:
            wrong.append("%d pieces of assembly" % line["inline_asm"])
        told = " (%s)" % line["reason"] if line["reason"] else ""
        print("FAIL %s: %s" % (name, "; ".join(wrong)) if wrong else "PASS %s%s" % (name, told), flush=True)
        return not wrong


def add_honest(cases, maker):
    """Every style must be proved. Returns the claims by name of the kernel."""
    styles = dict(maker.kernels.STYLES)
    for name, style in maker.kernels.OPTIONAL_STYLES.items():
        try:
            maker.compile_style(style)
            styles[name] = style
        except Exception as error:
            print("SKIP %s: this Triton cannot compile it (%s)" % (name, type(error).__name__))
    entries = {}
    for name, style in styles.items():
        kernel = maker.compile_style(style)
        cubin = kernel.asm["cubin"]
        found = json.loads(cases.collector.collect(maker.cache, {hashlib.sha256(cubin).hexdigest()}))["claims"]
        entries[name] = (cubin, found[0])
        cases.add(name, cubin, found[0], "triton", inline_asm=1 if name == "assembly" else 0)
    return entries


def changed(claim, **changes):
    """The claim with other options in its metadata."""
    return dict(claim, metadata=json.dumps(dict(json.loads(claim["metadata"]), **changes)))


def add_forged(cases, maker, honest):
    """The judge may prove none of these."""
    cubin, claim = honest["add"]
    other, _ = honest["matmul"]
    cases.add("no_claim", cubin, None, "none", "does not hold it")
    cases.add("another_kernels_code", other, claim, "none", "compiles to other code")
    cases.add("other_options", cubin, changed(claim, num_warps=8), "triton")  # num_warps of the claim counts
    cases.add("other_warps", cubin, dict(claim, num_warps=8), "none", "compiles to other")
    cases.add("linked_code", cubin, changed(claim, extern_libs=[["mine", "/tmp/mine.bc"]]), "none", "links other code")
    cases.add("replaced_stage", cubin, changed(claim, ir_override="/tmp/mine.ptx"), "none", "option ir_override")
    cases.add("ptxas_writes", cubin, changed(claim, ptx_options="-o /tmp/x"), "none", "option ptx_options")
    cases.add("ptxas_reads", cubin, changed(claim, ptx_options="--options-file /etc/passwd"), "none",
              "option ptx_options")
    cases.add("instrumented", cubin, changed(claim, instrumentation_mode="consan"), "none", "instrumentation_mode")
    cases.add("other_gpu", cubin, changed(claim, arch="sm80"), "none", "compiled for 'sm80'")
    cases.add("text_for_a_number", cubin, changed(claim, num_stages="3"), "none", "option num_stages")
    cases.add("metadata_is_a_list", cubin, dict(claim, metadata="[]"), "none", "metadata is no object")
    cases.add("metadata_is_nothing", cubin, dict(claim, metadata=""), "none", "does not compile here")
    cases.add("no_text", cubin, dict(claim, ttir=""), "none", "does not compile here")
    cases.add("no_ir", cubin, dict(claim, ttir="module { tt.func"), "none", "does not compile here")
    cases.add("deep_ir", cubin, dict(claim, ttir="module { %a = \"x\"() : () -> tuple<" + "tuple<" * 100000), "none",
              "compile")
    cases.add("changed_resources", patch_info(cubin), claim, "none", "other resources or data")
    plain = dict(claim, name="forged", metadata="{}", num_warps=0)
    cases.add("by_hand", maker.compile_text(DOUBLED), dict(plain, ttir=DOUBLED), "triton")
    for name, text, reason in (
            ("kept_variable", with_asm(GLOBAL), "keeps 4 bytes"),
            ("kept_initialized", with_asm(INITIALIZED), "uses the variable"),
            ("foreign_operator", DOUBLED.replace("tt.return", "llvm.inline_asm \"\", \"\" : () -> ()\n    tt.return"),
             "contains 'llvm.inline_asm'")):
        cases.add(name, maker.compile_text(text), dict(plain, ttir=text), "none", reason)
    for name, text, reasons in (("spliced_assembly", with_asm(SPLICED), "uses the variable 'kept'"),
                                ("second_kernel", with_asm(SECOND), "holds 2 kernels"),
                                ("heap", heap(), "calls the driver's 'malloc'")):
        try:
            image = maker.compile_text(text)
        except Exception:
            image, reasons = cubin, "does not compile here"  # this ptxas refuses it by itself
        cases.add(name, image, dict(plain, ttir=text), "none", reasons)


def patch_info(cubin):
    """The same code with another number of registers."""
    at = cubin.index(b"\x04\x2f\x08\x00")  # EIATTR_REGCOUNT: symbol, number
    return cubin[:at + 8] + bytes([cubin[at + 8] ^ 0x10]) + cubin[at + 9:]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("driver", "kgbrun", "data", "work"):
        parser.add_argument("--" + name, required=True, type=os.path.abspath)
    parser.add_argument("--sm", type=int, default=90)
    arguments = parser.parse_args()
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    os.makedirs(arguments.work, exist_ok=True)
    maker = Maker(arguments.work, arguments.sm)
    cases = Cases(arguments.data, arguments.work)
    add_forged(cases, maker, add_honest(cases, maker))
    return 0 if cases.run(arguments) else 1


if __name__ == "__main__":
    sys.exit(main())
