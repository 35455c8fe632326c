# SPDX-License-Identifier: MIT
"""cuBLAS called directly, on tensors in device memory: the baseline of operators that are functions of cuBLAS, without
what torch does around them. Not on a CPU. The library is the one that torch came with.

    cublas.call("cublasSgemm_v2", cublas.N, cublas.T, m, n, k, cublas.scalar(1.0), a, lda, b, ldb, cublas.scalar(0.0), c, ldc)

Tensors are passed by their address, numbers of Python as int, scalars by reference from the host.
"""

import ctypes

import torch

N, T, C = 0, 1, 2  # cublasOperation_t
WORKSPACE_BYTES = 32 << 20  # what torch gives it, too
STATE = {}


def scalar(value, kind=ctypes.c_float):
    return ctypes.byref(kind(value))


def checked(name, status):
    if status != 0:
        raise RuntimeError("%s: status %d" % (name, status))


def load():
    """The library, a handle on the default stream, and memory for it to work in that comes from torch."""
    for name in ("libcublas.so.13", "libcublas.so.12"):
        try:
            library = ctypes.CDLL(name)
            break
        except OSError:
            continue
    else:
        raise RuntimeError("torch has loaded no libcublas.so.13 or .12")
    handle = ctypes.c_void_p()
    checked("cublasCreate_v2", library.cublasCreate_v2(ctypes.byref(handle)))
    workspace = torch.empty(WORKSPACE_BYTES, dtype=torch.uint8, device="cuda")
    checked("cublasSetWorkspace_v2", library.cublasSetWorkspace_v2(
        handle, ctypes.c_void_p(workspace.data_ptr()), ctypes.c_size_t(WORKSPACE_BYTES)))
    STATE.update(library=library, handle=handle, workspace=workspace)


def call(name, *args):
    if not STATE:
        load()
    values = [ctypes.c_void_p(arg.data_ptr()) if isinstance(arg, torch.Tensor) else arg for arg in args]
    checked(name, getattr(STATE["library"], name)(STATE["handle"], *values))
