# SPDX-License-Identifier: MIT
"""The machine of verify/machine for tests in Python: programs from kernels of Triton, launches on torch's tensors on the CPU.

Triton must not be imported with TRITON_INTERPRET.
"""

import ctypes
import os
import struct

RANK = 5
FAULTS = ["none", "access", "read_only", "alignment", "claim", "race", "index", "assert", "fuel"]


class Err(ctypes.Structure):
    _fields_ = [("domain", ctypes.c_int), ("kind", ctypes.c_int), ("code", ctypes.c_int), ("depth", ctypes.c_uint32),
                ("trace", ctypes.c_char * 96), ("msg", ctypes.c_char * 400)]


class Buffer(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("bytes", ctypes.c_size_t), ("address", ctypes.c_uint64),
                ("is_writable", ctypes.c_bool)]


class Descriptor(ctypes.Structure):
    _fields_ = [("address", ctypes.c_uint64), ("shape", ctypes.c_int64 * RANK), ("strides", ctypes.c_int64 * RANK),
                ("pads_with_nan", ctypes.c_bool)]


class Argument(ctypes.Structure):
    _fields_ = [("bits", ctypes.c_uint64), ("descriptor", ctypes.POINTER(Descriptor))]


class Launch(ctypes.Structure):
    _fields_ = [("buffers", ctypes.POINTER(Buffer)), ("n_buffers", ctypes.c_uint32),
                ("arguments", ctypes.POINTER(Argument)), ("n_arguments", ctypes.c_uint32), ("grid", ctypes.c_uint32 * 3),
                ("seed", ctypes.c_uint64), ("n_threads", ctypes.c_int), ("fuel", ctypes.c_int64),
                ("finds_races", ctypes.c_bool), ("has_warps", ctypes.c_bool), ("outcomes", ctypes.c_void_p)]


class FaultFields(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_int), ("line", ctypes.c_int), ("kernel_line", ctypes.c_int),
                ("kernel_file", ctypes.c_char * 48), ("program", ctypes.c_uint32 * 3), ("address", ctypes.c_uint64),
                ("buffer", ctypes.c_int32), ("offset", ctypes.c_int64), ("message", ctypes.c_char * 256)]


class Fault(Exception):
    """A launch that ended with a fault."""

    def __init__(self, fields):
        super().__init__(fields.message.decode())
        self.kind, self.kernel_line, self.program = FAULTS[fields.kind], fields.kernel_line, tuple(fields.program)
        self.buffer, self.offset = fields.buffer, fields.offset


class Machine:
    """The library at this path."""

    def __init__(self, path):
        library = self.library = ctypes.CDLL(path)
        library.kgb_machine_program_parse.argtypes = [ctypes.POINTER(ctypes.c_void_p), ctypes.c_char_p, ctypes.c_size_t,
                                                      ctypes.POINTER(Err)]
        library.kgb_machine_program_free.argtypes = [ctypes.c_void_p]
        library.kgb_machine_program_n_arguments.argtypes = [ctypes.c_void_p]
        library.kgb_machine_program_n_operations.argtypes = [ctypes.c_void_p]
        library.kgb_machine_program_arena_bytes.argtypes = [ctypes.c_void_p]
        library.kgb_machine_program_arena_bytes.restype = ctypes.c_size_t
        library.kgb_machine_program_argument.argtypes = [ctypes.c_void_p, ctypes.c_uint32]
        library.kgb_machine_program_argument.restype = ctypes.c_char_p
        library.kgb_machine_run.argtypes = [ctypes.c_void_p, ctypes.POINTER(Launch), ctypes.POINTER(FaultFields),
                                            ctypes.POINTER(Err)]

    def program(self, text):
        return Program(self.library, text)


class Program:
    """A parsed module. ValueError: the machine's message."""

    def __init__(self, library, text):
        self.library, self.handle, err = library, ctypes.c_void_p(), Err()
        text = text.encode()
        if library.kgb_machine_program_parse(ctypes.byref(self.handle), text, len(text), ctypes.byref(err)):
            raise ValueError(err.msg.decode())
        self.types = [library.kgb_machine_program_argument(self.handle, i).decode()
                      for i in range(library.kgb_machine_program_n_arguments(self.handle))]
        self.arena_bytes = library.kgb_machine_program_arena_bytes(self.handle)
        self.n_operations = library.kgb_machine_program_n_operations(self.handle)

    def __del__(self):
        self.library.kgb_machine_program_free(self.handle)

    def prepare(self, args, grid, *, seed=1, threads=1, fuel=0, races=False):
        """A launch; tensors as pointers to their storages, each a buffer. ("at", tensor, offset in bytes) for others."""
        import torch
        buffers, arguments, keep = {}, [], []
        for value, kind in zip(args, self.types, strict=True):
            descriptor, offset = None, 0
            if isinstance(value, tuple) and value[0] == "at":
                _, value, offset = value
            elif isinstance(value, tuple) and value[0] == "descriptor":
                _, value = value
                descriptor = Descriptor(0, (ctypes.c_int64 * RANK)(*value.shape), (ctypes.c_int64 * RANK)(*value.stride()))
            if isinstance(value, torch.Tensor):
                storage = value.untyped_storage()
                at = buffers.setdefault(storage.data_ptr(), (len(buffers), storage))
                bits = (at[0] + 1 << 40) + value.data_ptr() - storage.data_ptr() + offset
                if descriptor:
                    descriptor.address = bits
            elif kind == "f32":
                bits = struct.unpack("<I", struct.pack("<f", value))[0]
            elif kind == "f64":
                bits = struct.unpack("<Q", struct.pack("<d", value))[0]
            else:
                bits = int(value) & 2**64 - 1
            keep.append(descriptor)
            arguments.append(Argument(bits, ctypes.pointer(descriptor) if descriptor else None))
        held = (Buffer * max(1, len(buffers)))(*(Buffer(storage.data_ptr(), storage.nbytes(), i + 1 << 40, True)
                                                 for i, storage in buffers.values()))
        grid = (tuple(grid) + (1, 1, 1))[:3]
        launch = Launch(held, len(buffers), (Argument * max(1, len(arguments)))(*arguments), len(arguments),
                        (ctypes.c_uint32 * 3)(*grid), seed, threads, fuel, races, races)
        launch.keep = keep, buffers
        return launch

    def start(self, launch):
        fault, err = FaultFields(), Err()
        if self.library.kgb_machine_run(self.handle, ctypes.byref(launch), ctypes.byref(fault), ctypes.byref(err)):
            if fault.kind:
                raise Fault(fault)
            raise ValueError(err.msg.decode())

    def run(self, args, grid=(1,), **options):
        self.start(self.prepare(args, grid, **options))


def compile_ttir(fn, signature, constants=None, *, normal=True, locations=False, attributes=None):
    """The TTIR of a @triton.jit function for sm_90; signature: name -> "*fp32", "i32" ...; `normal`: inlined, canonical."""
    os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")
    from triton._C.libtriton import ir, passes
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource
    from triton.compiler.compiler import make_backend
    constants = constants or {}
    target = GPUTarget("cuda", 90, 32)
    backend = make_backend(target)
    names = fn.arg_names
    source = ASTSource(fn=fn, signature={name: "constexpr" if name in constants else signature[name] for name in names},
                       constexprs={(names.index(name),): value for name, value in constants.items()},
                       attrs={(names.index(name),): value for name, value in (attributes or {}).items()})
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    options = backend.parse_options({"debug": True})
    module = source.make_ir(target, options, backend.get_codegen_implementation(options), backend.get_module_map(), context)
    module.context = context
    if normal:
        manager = ir.pass_manager(context)
        passes.common.add_inliner(manager)
        passes.common.add_canonicalizer(manager)
        passes.common.add_cse(manager)
        manager.run(module, "normalize")
    return str(module) if locations else module.str_nodebug()
