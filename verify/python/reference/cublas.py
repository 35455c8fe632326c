# SPDX-License-Identifier: MIT
"""cuBLAS, by the names of its routines, on tensors in device memory: the native result and the baseline of operators
that are such routines. Not on a CPU. libkgb_cublas.so (verify/cublas/blas.h) calls the cuBLAS that torch has loaded, and checks
every argument and status.

    cublas.call("cublasSgemm_v2", 0, 1, m, n, k, 1.0, a, lda, b, ldb, 0.0, c, ldc)

Arguments are those of the routine without the handle: whole numbers, numbers by value, tensors for memory.
"""

import ctypes

import torch

LIBRARY = "/kgb/lib/libkgb_cublas.so"
WORKSPACE_BYTES = 32 << 20  # as much as torch gives to cuBLAS
INTEGER, NUMBER, POINTER = range(3)
STATE = {}


class Value(ctypes.Structure):
    """struct kgb_cublas_value."""

    _fields_ = [("kind", ctypes.c_uint32), ("zero", ctypes.c_uint32), ("integer", ctypes.c_int64),
                ("re", ctypes.c_double), ("im", ctypes.c_double), ("pointer", ctypes.c_void_p)]


def value_of(arg):
    if isinstance(arg, torch.Tensor):  # an empty one has no address, and cuBLAS may require one
        return Value(kind=POINTER, pointer=arg.data_ptr() or STATE["workspace"].data_ptr())
    if isinstance(arg, int):
        return Value(kind=INTEGER, integer=arg)
    return Value(kind=NUMBER, re=complex(arg).real, im=complex(arg).imag)


def checked(status):
    if status != 0:
        raise RuntimeError(STATE["library"].kgb_blas_error().decode("utf-8", "replace"))


def load():
    """Load the library, open its handle on the default stream, and give it workspace from torch."""
    library = ctypes.CDLL(LIBRARY)
    library.kgb_blas_error.restype = ctypes.c_char_p
    library.kgb_blas_workspace.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
    library.kgb_blas_call.argtypes = (ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t)
    STATE["library"] = library
    torch.cuda.init()
    workspace = torch.empty(WORKSPACE_BYTES, dtype=torch.uint8, device="cuda")  # makes the context, too
    checked(library.kgb_blas_open())
    checked(library.kgb_blas_workspace(workspace.data_ptr(), WORKSPACE_BYTES))
    STATE["workspace"] = workspace


def call(name, *args):
    if "workspace" not in STATE:
        load()
    values = (Value * len(args))(*map(value_of, args))
    checked(STATE["library"].kgb_blas_call(name.encode(), values, len(args)))


def is_native(args):
    """Whether this is a call in the routine's own types on a GPU, so that cuBLAS computes the result. Calls for the float64 truth
    (reference.py) are recognised by torch's default type, because the arguments of float64 routines are the same in both
    calls."""
    on_gpu = any(isinstance(arg, torch.Tensor) and arg.is_cuda for arg in args)
    return on_gpu and torch.get_default_dtype() != torch.float64
