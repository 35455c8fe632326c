# SPDX-License-Identifier: MIT
"""Memory that the runner hands to candidate code: tensors over the judge's arena."""

import warnings

import torch

import wire

# Of verify/protocol/record.h: arguments may hold addresses in the arena.
ARENA_ADDRESS = 0x135700000000  # KGB_ARENA_ADDRESS
ARENA_STRIDE = 66 << 30  # KGB_ARENA_STRIDE
ARENA_WINDOWS = 2  # KGB_ARENA_WINDOWS
ARENA_END = ARENA_ADDRESS + ARENA_WINDOWS * ARENA_STRIDE
ALIGN = 64
SHARED = torch.frombuffer  # the function itself: torch_moves.py replaces names of torch, and records calls by those names

TORCH_DTYPES = tuple(getattr(torch, name) for name in wire.DTYPES)
DTYPE_NUMBERS = {dtype: number for number, dtype in enumerate(TORCH_DTYPES)}


def address_of(mapping):
    return SHARED(mapping, dtype=torch.uint8).data_ptr()


def from_arena(address, n_bytes):
    """The bytes from ARENA_ADDRESS to an address of an arena of n_bytes, in any window; None: it is none."""
    offset = address - ARENA_ADDRESS
    return offset if ARENA_ADDRESS <= address < ARENA_END and offset % ARENA_STRIDE < n_bytes else None


def place(tensor, n_bytes):
    """(where, address) of a result's first element, beside an arena of n_bytes."""
    address = tensor.data_ptr()
    offset = from_arena(address, n_bytes)
    return (wire.FRESH, address) if offset is None else (wire.ARENA, offset)


def warm_up():
    """Conversions between all types: some read /proc/cpuinfo first, which a jailed worker cannot."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # imaginary parts get lost
        for source in TORCH_DTYPES:
            for target in TORCH_DTYPES:
                torch.ones(256, dtype=source).to(target)


def tensor_at(mapping, offset, dtype, n_elements, sizes, strides, first):
    """A tensor whose storage is exactly n_elements of dtype at offset."""
    if n_elements == 0:
        return torch.empty_strided(sizes, strides, dtype=dtype)
    storage = SHARED(mapping, dtype=dtype, count=n_elements, offset=offset)
    return torch.as_strided(storage, sizes, strides, first)


def reach_of(sizes, strides):
    """Elements from the first to one past the last."""
    if 0 in sizes:
        return 0
    return 1 + sum((size - 1) * stride for size, stride in zip(sizes, strides))
