# SPDX-License-Identifier: MIT
"""Launches for Triton 3.6. That version compiles a launcher in C for every signature, which takes 0.3 s each and would need
a C compiler in the jail. Later versions of Triton launch in much the same way as this module.

A launch has the attributes and the order of parameters of Triton's own launchers. The judge replays the driver's record, so a
mistake here can only refuse a kernel, never pass one.
"""

import ctypes
import re
import struct
import types

import triton
from triton.backends.nvidia import driver

VERSIONS = ("3.6.",)
POINTER, DESCRIPTOR, CONSTANT = "pointer", "descriptor", "constexpr"
INTEGERS = {"i1": "<b", "i8": "<b", "i16": "<h", "i32": "<i", "i64": "<q",
            "u1": "<B", "u8": "<B", "u16": "<H", "u32": "<I", "u64": "<Q"}
# Of cuda.h: CU_LAUNCH_ATTRIBUTE_*, CU_CLUSTER_SCHEDULING_POLICY_SPREAD, CU_FUNC_ATTRIBUTE_..., CU_POINTER_ATTRIBUTE_...
COOPERATIVE, CLUSTER_DIMENSION, CLUSTER_POLICY, PROGRAMMATIC = 2, 4, 5, 6
SPREAD = 1
NON_PORTABLE_CLUSTER = 14
DEVICE_POINTER = 3
INVALID_VALUE = 1
WARP_SIZE = 32
PORTABLE_CTAS = 8
DESCRIPTOR_ALIGN = 128


class Attribute(ctypes.Structure):
    """CUlaunchAttribute."""
    _fields_ = [("id", ctypes.c_uint), ("pad", ctypes.c_uint), ("value", ctypes.c_uint * 16)]


class Config(ctypes.Structure):
    """CUlaunchConfig."""
    _fields_ = [("grid", ctypes.c_uint * 3), ("block", ctypes.c_uint * 3), ("shared_bytes", ctypes.c_uint),
                ("stream", ctypes.c_void_p), ("attributes", ctypes.POINTER(Attribute)), ("n_attributes", ctypes.c_uint)]


class Cuda:
    """The driver, opened at the first launch: before that there may be none."""

    library = None

    @classmethod
    def call(cls, name, *args):
        if cls.library is None:
            cls.library = ctypes.CDLL("libcuda.so.1")
        return getattr(cls.library, name)(*args)

    @classmethod
    def check(cls, status):
        if status:
            text = ctypes.c_char_p()
            cls.call("cuGetErrorString", status, ctypes.byref(text))
            raise RuntimeError("Triton Error [CUDA]: %s" % (text.value or b"?").decode())


def descriptor_types(signature, meta):
    """The arguments that pass a host-side tensor descriptor: see triton.backends.nvidia.driver.make_tensordesc_arg."""
    match = re.match(r"tensordesc<([^[>]*)\[([^]]*)\]", signature)
    n_dims = match.group(2).count(",") + 1
    head = [DESCRIPTOR] if meta else ["*" + match.group(1)] + ["i64"] * (2 * n_dims) + ["i1"]
    return head + ["i32"] * n_dims + ["i64"] * n_dims


def expand(signature, descriptors):
    """The types of a launch's arguments, tuples as tuples."""
    metas = iter(descriptors or ())
    out = []
    for one in signature:
        if isinstance(one, str) and one.startswith("tensordesc"):
            out += descriptor_types(one, next(metas, None))
        else:
            out.append(one)
    return out


def flatten(types_, values):
    """(type, value) of every argument in the order of the kernel's parameters."""
    for one, value in zip(types_, values):
        if isinstance(one, tuple):
            yield from flatten(one, value)
        else:
            yield one, value


def address_of(value, position):
    """The device address of a pointer argument, as Triton checks it."""
    if isinstance(value, int):
        return value
    if value is None:
        return 0
    address = value.data_ptr()
    if not address:
        return 0
    found = ctypes.c_uint64()
    status = Cuda.call("cuPointerGetAttribute", ctypes.byref(found), DEVICE_POINTER, ctypes.c_uint64(address))
    if status == INVALID_VALUE:
        raise ValueError("Pointer argument (at %d) cannot be accessed from Triton (cpu tensor?)" % position)
    Cuda.check(status)
    return found.value


def float_bytes(type_, value):
    value = float(value)
    if type_ == "fp64":
        return struct.pack("<d", value)
    if type_ == "fp16":
        return struct.pack("<e", value)
    single = bytes(ctypes.c_float(value))  # struct.pack would refuse a number that becomes infinite
    return single[2:] if type_ == "bf16" else single


def value_bytes(type_, value):
    if type_ in INTEGERS:
        return struct.pack(INTEGERS[type_], int(value))
    return float_bytes(type_, value)


def parameters(types_, values, scratch):
    """The array of addresses for cuLaunchKernelEx, and the objects that must live until it returns."""
    addresses, kept = [], []

    def keep(raw):
        place = ctypes.create_string_buffer(raw, 8)
        kept.append(place)
        addresses.append(ctypes.addressof(place))

    for position, (type_, value) in enumerate(flatten(types_, values)):
        if type_ == CONSTANT:
            continue
        if type_ == DESCRIPTOR:
            kept.append(value)
            head = id(value) + object.__basicsize__
            addresses.append(-(-head // DESCRIPTOR_ALIGN) * DESCRIPTOR_ALIGN)
        elif type_[0] == "*":
            keep(struct.pack("<Q", address_of(value, position)))
        else:
            keep(value_bytes(type_, value))
    for value in scratch:
        keep(struct.pack("<Q", address_of(value, -1)))
    return (ctypes.c_void_p * len(addresses))(*addresses), kept


def attributes(programmatic, cooperative, n_ctas):
    chosen = []
    if programmatic:
        chosen.append((PROGRAMMATIC, (1,)))
    if cooperative:
        chosen.append((COOPERATIVE, (1,)))
    if n_ctas != 1:
        chosen.append((CLUSTER_DIMENSION, (n_ctas, 1, 1)))
        chosen.append((CLUSTER_POLICY, (SPREAD,)))
    made = (Attribute * max(len(chosen), 1))()
    for one, (number, value) in zip(made, chosen):
        one.id = number
        one.value[:len(value)] = value
    return made, len(chosen)


def make_launch(types_):
    """The `launch` of a launcher module for arguments of these types."""
    def launch(grid_x, grid_y, grid_z, stream, function, cooperative, programmatic, global_scratch, profile_scratch,
               kernel_metadata, launch_metadata, enter_hook, exit_hook, *values):
        n_warps, n_ctas, shared_bytes = kernel_metadata[:3]
        if enter_hook is not None:
            enter_hook(launch_metadata)
        params, kept = parameters(types_, values, (global_scratch, profile_scratch))
        if grid_x * grid_y * grid_z > 0:
            made, n = attributes(programmatic, cooperative, n_ctas)
            config = Config((grid_x * n_ctas, grid_y, grid_z), (WARP_SIZE * n_warps, 1, 1), shared_bytes, stream, made, n)
            if n_ctas > PORTABLE_CTAS:
                Cuda.check(Cuda.call("cuFuncSetAttribute", ctypes.c_void_p(function), NON_PORTABLE_CLUSTER, 1))
            Cuda.check(Cuda.call("cuLaunchKernelEx", ctypes.byref(config), ctypes.c_void_p(function), params, None))
        del kept
        if exit_hook is not None:
            exit_hook(launch_metadata)
    return launch


def install():
    """Called once, in the zygote. Does nothing with a version of Triton that this module does not support."""
    if not triton.__version__.startswith(VERSIONS):
        return
    compile_module = driver.compile_module_from_src

    def make_launcher(constants, signature, descriptors):
        return expand(signature.values(), descriptors)

    def compile_module_from_src(src, name, **rest):
        if name == "__triton_launcher":
            return types.SimpleNamespace(launch=make_launch(src))
        return compile_module(src=src, name=name, **rest)

    driver.make_launcher = make_launcher
    driver.compile_module_from_src = compile_module_from_src
