# SPDX-License-Identifier: MIT
"""The parameters of a launch that a record names by its image: one word of 8 bytes for each argument of the module's function
(docs/record-format.md)."""

import struct

import launcher

MASK = (1 << 64) - 1


def float_word(kind, value):
    return int.from_bytes(launcher.float_bytes(kind, value), "little")


def words(kinds, values, address_of, check_descriptor):
    """The words of these arguments; tuples lie in tuples."""
    for position, (kind, value) in enumerate(zip(kinds, values)):
        if not isinstance(kind, str):
            yield from words(kind, value, address_of, check_descriptor)
        elif kind.startswith("tensordesc"):
            check_descriptor(value)
            yield from (address_of(value.base, position), *map(int, value.shape), *map(int, value.strides))
        elif kind[0] == "*":
            yield address_of(value, position)
        elif kind in launcher.INTEGERS:
            yield int(value)
        elif kind != "constexpr":
            yield float_word(kind, value)


def packed(kinds, values, address_of, check_descriptor=lambda value: None):
    found = [word & MASK for word in words(kinds, values, address_of, check_descriptor)]
    return struct.pack("<%dQ" % len(found), *found)


def grid_of(*sizes):
    grid = tuple(map(int, sizes))
    if min(grid) < 0 or max(grid) >= 1 << 32:
        raise RuntimeError("Triton Error [CUDA]: invalid argument")
    return grid
