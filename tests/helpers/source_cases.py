# SPDX-License-Identifier: MIT
"""Makes images of the CPU as a candidate's process does, and forges others. provenance_driver runs it and proves the images.

    python source_cases.py RUNNER_DIR WORK_DIR KERNEL_FILE
    python source_cases.py check OUTPUT

Executes KERNEL_FILE, which is source_kernels.py, makes an image of each of its launches, once by itself and once by the judge's end of
the first descriptor in KGB_SEATS, and prints the paths: honest-*.image and asked-*.image must be proved, forged-*.image must not. A runner on a GPU must
request machine code for the same images.
"check" compares the lines that the driver printed with that, and prints one line per case, "PASS
name" or "FAIL name: what the driver printed".
"""

import importlib.util
import json
import os
import sys


class Pointer:
    def __init__(self, dtype, address=1 << 32):
        self.dtype, self.address = dtype, address

    def data_ptr(self):
        return self.address

    def ptr_range(self):
        return 0


class Target:
    """In place of a driver."""

    get_current_device = staticmethod(lambda: 0)
    get_current_target = staticmethod(lambda: __import__("ttir_image").TARGET)


class Requested(Exception):
    pass


def requested(fn, signature, constants, attrs, options):
    """The image that a runner on a GPU requests machine code for."""
    import remote
    import triton
    import ttir_image

    def ask(image, *_):
        raise Requested(image)

    remote.JUDGE.fd, remote.JUDGE.compile = 0, ask
    try:
        triton.compile(remote.ASTSource(fn, signature, constants, attrs), ttir_image.TARGET, vars(options))
    except Requested as request:
        return request.args[0]
    finally:
        remote.JUDGE.fd = -1
    return b""


MADE = []  # of image_of: the function, and the arguments of ttir_image.make


def image_of(fn, *args, **kwargs):
    import triton.runtime.jit as jit
    import ttir_image
    backend = ttir_image.make_backend(ttir_image.TARGET)
    kwargs["debug"] = False
    bound, specialization, options = jit.create_function_from_signature(fn.signature, fn.params, backend)(*args, **kwargs)
    options, signature, constants, attrs = fn._pack_args(backend, kwargs, bound, specialization, options)
    MADE.append((fn, signature, constants, attrs, options))
    image = ttir_image.make(*MADE[-1])[0]
    if requested(*MADE[-1]) != image:
        sys.exit("%s: on a GPU it has another image" % fn)
    return image


def asked(images):
    """The images with the judge's IR, which is that of this process. What a constexpr function gives is not told by the text."""
    import remote
    import ttir_image
    remote.use(int(os.environ["KGB_SEATS"].split()[0]))
    for (name, image), made in zip(images.items(), MADE):
        found = ttir_image.made_by_judge(*made, remote.JUDGE.make_ir)
        if found is None or found[0].partition(b"\n")[2] != image.partition(b"\n")[2] or found[1] != ttir_image.made_here(*made)[1]:
            found = [b"the judge makes other IR, or none"]
        if name != "constexpr_function":
            yield name, found[0]


def honest(kernel):
    import torch
    import triton.language as tl
    x, odd = Pointer(torch.float32), Pointer(torch.float16, (1 << 32) + 2)
    yield "plain", image_of(kernel.plain, x, x, 100, BLOCK=128)
    yield "specialized", image_of(kernel.plain, x, odd, 1, BLOCK=64, num_warps=8, num_stages=3)
    yield "helpers", image_of(kernel.helpers, x, 100, 0.5, MODE="double", BLOCK=32)
    yield "constants", image_of(kernel.constants, x, 100, BLOCK=32)
    yield "closure", image_of(kernel.in_closure, x)
    yield "other_closure", image_of(kernel.other_closure, x)
    yield "alias", image_of(kernel.aliased, x)
    yield "conditional", image_of(kernel.conditional, x)
    yield "renamed", image_of(kernel.renamed, x, BLOCK=16)
    yield "tuples", image_of(kernel.tuples, kernel.Pair(x, 7), (x, 3.0), BLOCK=16)
    yield "dtype", image_of(kernel.typed, x, tl.float16, torch.float16)
    yield "hidden", image_of(kernel.hidden, x)
    yield "constexpr_function", image_of(kernel.rounded, x, N=100)
    yield "assembly", image_of(kernel.assembly, x)


def changed(image, **fields):
    claims, _, module = image.partition(b"\n")
    return json.dumps({**json.loads(claims), **fields}, separators=(",", ":")).encode() + b"\n" + module


def forged(images):
    plain, helpers, constants = images["plain"], images["helpers"], images["constants"]
    claims, _, module = plain.partition(b"\n")
    yield "module", plain.replace(b"arith.addf", b"arith.subf")
    yield "other_module", claims + b"\n" + images["specialized"].partition(b"\n")[2]
    yield "by_hand", claims + b"\nmodule {\n  tt.func public @plain(%p: !tt.ptr<f32>) {\n    tt.return\n  }\n}\n"
    yield "no_locations", claims + b"\n" + b"\n".join(line.partition(b" loc(")[0] for line in module.splitlines())
    yield "longer", plain + b"\n"
    yield "function", changed(plain, functions=[{**json.loads(claims)["functions"][0], "line": 1}])
    yield "option", changed(plain, options={"extern_libs": {"a": "/etc/passwd"}})
    yield "constant", changed(plain, constants=[[[3], 256]])
    yield "attribute", changed(plain, attrs=[])
    yield "variable", constants.replace(b'{"constexpr":3}', b'{"constexpr":4}')
    yield "library", helpers.replace(b'{"module":"triton.language"}', b'{"module":"triton.language.core"}')
    yield "python", helpers.replace(b'{"module":"triton.language"}', b'{"module":"os"}')
    yield "answer", images["constexpr_function"].replace(b",128]", b",64]")
    yield "claims", b'{"kgb_ttir":1,}\n' + module
    yield "cubin", b"\x7fELF\2\1"


def make(work, path):
    import torch  # noqa: F401
    from triton.runtime import driver
    import remote
    remote.install()
    os.environ["TRITON_CACHE_DIR"] = os.path.join(work, "cache")
    driver.set_active(Target())
    spec = importlib.util.spec_from_file_location("kernel", path)
    kernel = sys.modules["kernel"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(kernel)
    images = dict(honest(kernel))
    for kind, cases in (("honest", images.items()), ("asked", asked(images)), ("forged", forged(images)), ("honest", [("torch", b'{"kgb_torch":1}\n')])):
        for name, image in cases:
            path = os.path.join(work, "%s-%s.image" % (kind, name))
            with open(path, "wb") as file:
                file.write(image)
            print(path, flush=True)


def check(output):
    with open(output, encoding="utf-8") as file:
        lines = [line for line in map(json.loads, file) if "file" in line]
    for line in lines:
        kind, _, name = os.path.basename(line["file"]).partition(".")[0].partition("-")
        proof, owner = ("moves", "torch_move") if name == "torch" else ("triton", "triton")
        good = (line["proof"], line["owner"]) == ((proof, owner) if kind != "forged" else ("none", "unknown"))
        print("%s %s%s" % ("PASS" if good else "FAIL", "asked-" * (kind == "asked") + name, "" if good else ": %s" % line))


if __name__ == "__main__":
    if sys.argv[1] == "check":
        check(sys.argv[2])
    else:
        sys.path.insert(0, sys.argv[1])
        make(*sys.argv[2:])
