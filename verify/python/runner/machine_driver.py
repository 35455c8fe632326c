# SPDX-License-Identifier: MIT
"""A driver of Triton for the machine (verify/machine/machine.h): kernels are the JITFunctions that they are on a GPU, a compiled
kernel is its image (ttir_image.py), and a launch is an operation of the record. In calls that are not only recorded the machine
runs it, too.
"""

import collections
import contextlib
import dataclasses
import functools
import types

import torch
import triton
import triton.compiler
from triton import knobs
from triton.backends.driver import DriverBase
from triton.compiler.compiler import CompiledKernel, make_backend
from triton.runtime import _allocation, driver

import cpu_trace
import launch_words
import only_records
import remote
import shared_memory
import ttir_image
import tuner

CAPABILITY = (9, 0)
WARP_SIZE = ttir_image.TARGET.warp_size
# Properties of an H100, by which candidates choose sizes.
PROPERTIES = {"max_shared_mem": shared_memory.LIMIT, "max_num_regs": 65536, "multiprocessor_count": 132, "warpSize": WARP_SIZE,
              "sm_clock_rate": 1980000, "mem_clock_rate": 2619000, "mem_bus_width": 5120}
BLOCKS_OF_ONE, THREADS_OF_ONE = 32, 2048  # that a multiprocessor holds
MEMORY_BYTES = 80 << 30
L2_BYTES = 50 << 20
# Attributes of a compiled kernel that only machine code would give.
REGISTERS, SHARED_BYTES, THREADS = 32, 1024, 1024
DESCRIPTOR_BYTES = DESCRIPTOR_ALIGN = 128  # of a descriptor that a kernel makes; a GPU needs memory for it from an allocator


class State:
    def __init__(self):
        self.launches = collections.Counter()
        self.seed = 0
        self.idle = 0  # above 0: launches are not carried out
        self.failure = None  # first exception of a launch: it gives information to a candidate that catches it

    def begin_call(self, seed):
        self.launches.clear()
        self.seed = seed
        self.failure = None


STATE = State()


# ---- compiling ----

def options_of(requested, backend):
    return backend.parse_options({name: value for name, value in dict(requested or {}).items() if value is not None})


def options_of_ir(options):
    """The options for the front end. Without `debug` it computes each index in 64 bits, too, and does not use the result."""
    return options if options.debug else dataclasses.replace(options, sanitize_overflow=False)


@functools.cache
def metadata_type(names):
    return collections.namedtuple("KernelMetadata", names)


class Kernel(CompiledKernel):
    """A compiled kernel without Triton's cache on disk."""

    def __init__(self, src, target, options):
        self.module = self.function = self._run = self._module_pid = None
        self.image, self.name, module, found = ttir_image.make(src.fn, src.signature, src.constants, src.attrs,
                                                               options_of_ir(options), remote.JUDGE.make_ir)
        if "no_gpu" in found and "shared" not in found:
            raise RuntimeError(found["no_gpu"])
        facts = {**vars(options), "target": target, "name": self.name, "hash": src.hash(),
                 "shared": found.get("shared", SHARED_BYTES), "tmem_size": None,
                 "global_scratch_size": DESCRIPTOR_BYTES * str(module).count("tt.make_tensor_descriptor"),
                 "global_scratch_align": DESCRIPTOR_ALIGN, "profile_scratch_size": 0, "profile_scratch_align": 1}
        self.metadata = metadata_type(tuple(sorted(facts)))(**facts)
        self.packed_metadata = make_backend(target).pack_metadata(self.metadata)
        self.src = src
        self.hash = facts["hash"]
        self.asm = {"ttir": str(module)}
        self.kernel = self.image
        self.metadata_group = {}


def compile_source(src, target=None, options=None, **_):
    target = target or ttir_image.TARGET
    return Kernel(src, target, options_of(options, make_backend(target)))


# ---- launching ----

def address_of(value, position):
    if value is None or isinstance(value, int):
        return value or 0
    address = value.data_ptr()
    base = getattr(value, "base", value)
    if isinstance(base, torch.Tensor) and base.numel() and not cpu_trace.holds(base):
        raise ValueError("Pointer argument (at %d) cannot be accessed from Triton (cpu tensor?)" % position)
    return address


def most_at_a_time(n_threads):
    """The programs that an H100 holds at a time; shared memory and registers may permit fewer."""
    return PROPERTIES["multiprocessor_count"] * min(BLOCKS_OF_ONE, THREADS_OF_ONE // n_threads)


def check_descriptor(value):
    if value.padding == "nan" or getattr(value, "round_f32_to_tf32", False):
        cpu_trace.unsupported("a tensor descriptor that pads with NaN or rounds")


class Launcher:
    def __init__(self, src, metadata):
        self.kinds = tuple(src.signature.values())
        self.n_threads = WARP_SIZE * metadata.num_warps
        self.most_programs = most_at_a_time(self.n_threads) if metadata.launch_cooperative_grid else None
        self.name = metadata.name
        self.scratch_bytes = metadata.global_scratch_size

    def __call__(self, x, y, z, stream, kernel, kernel_metadata, launch_metadata, enter_hook, exit_hook, *values):
        if enter_hook is not None:
            enter_hook(launch_metadata)
        grid = launch_words.grid_of(x, y, z)
        if self.most_programs and grid[0] * grid[1] * grid[2] > self.most_programs:
            raise RuntimeError("Triton Error [CUDA]: too many blocks in cooperative launch")
        allocator = _allocation._allocator.get()
        if self.scratch_bytes and isinstance(allocator, _allocation.NullAllocator):
            # Triton's default allocator raises, and nothing is launched, as on a GPU. The candidate's allocator is not called: here,
            # descriptors take no memory.
            allocator(x * y * z * self.scratch_bytes, DESCRIPTOR_ALIGN, stream)
        params = launch_words.packed(self.kinds, values, address_of, check_descriptor)
        if not STATE.idle:
            self.launch(kernel, grid, params)
        if exit_hook is not None:
            exit_hook(launch_metadata)

    def launch(self, kernel, grid, params):
        if 0 in grid:
            return
        STATE.launches[self.name] += 1
        try:
            cpu_trace.launch(kernel, grid, self.n_threads, params)
            if not only_records.STATE.on:
                cpu_trace.run(kernel, grid, params, STATE.seed)
        except BaseException as error:
            STATE.failure = STATE.failure or error
            raise


class Utils:
    def load_binary(self, name, image, shared, device):
        try:
            number = cpu_trace.load(image)
        except BaseException as error:
            STATE.failure = STATE.failure or error
            raise
        return number, number, REGISTERS, 0, THREADS

    def unload_module(self, module):
        pass

    def get_device_properties(self, device):
        return dict(PROPERTIES)


@contextlib.contextmanager
def without_launches():
    """Kernels are compiled but not launched meanwhile."""
    STATE.idle += 1
    try:
        yield
    finally:
        STATE.idle -= 1


class Driver(DriverBase):
    def __init__(self):
        self.utils = Utils()
        self.launcher_cls = Launcher

    @classmethod
    def is_active(cls):
        return True

    def get_current_device(self):
        return 0

    def set_current_device(self, device):
        pass

    def get_current_stream(self, device=0):
        return 0

    def get_device_capability(self, device=0):
        return CAPABILITY

    def get_current_target(self):
        return ttir_image.TARGET

    def get_active_torch_device(self):
        return torch.device("cpu")

    def get_device_interface(self):
        return torch.cuda

    def map_python_to_cpp_type(self, ty):
        return ty

    def assemble_tensormap_to_arg(self, tensormaps_info, args):
        return args

    def get_benchmarker(self):
        return tuner.benchmark

    def get_empty_cache_for_benchmark(self):
        return None

    def clear_cache(self, cache):
        pass


def device_properties(device=None):
    return types.SimpleNamespace(
        name="NVIDIA H100", major=CAPABILITY[0], minor=CAPABILITY[1], multi_processor_count=PROPERTIES["multiprocessor_count"],
        warp_size=WARP_SIZE, total_memory=MEMORY_BYTES, L2_cache_size=L2_BYTES, max_threads_per_multi_processor=2048,
        regs_per_multiprocessor=65536, shared_memory_per_block_optin=PROPERTIES["max_shared_mem"],
        shared_memory_per_multiprocessor=233472)


@contextlib.contextmanager
def any_device(device=None):
    yield


def answer_for_cuda():
    """Called once, in the zygote, after torch has made its tables of functions. Replaces functions of torch.cuda by which
    candidates choose sizes, and those that do nothing if there is only one device."""
    torch.cuda.get_device_properties = device_properties
    torch.cuda.get_device_capability = lambda device=None: CAPABILITY
    torch.cuda.get_device_name = lambda device=None: "NVIDIA H100"
    torch.cuda.current_device = lambda: 0
    torch.cuda.device_count = lambda: 1
    torch.cuda.set_device = lambda device: None
    torch.cuda.synchronize = lambda device=None: None
    torch.cuda.device = torch.cuda.device_of = any_device
    torch.cuda.current_stream = lambda device=None: types.SimpleNamespace(cuda_stream=0)
    torch.cuda.is_bf16_supported = lambda including_emulation=True: True


def prepare():
    """Called once, in the zygote."""
    ttir_image.prepare()
    triton.compiler.compile = compile_source
    knobs.runtime.interpret = False
    driver.set_active(Driver())
