# SPDX-License-Identifier: MIT
"""The parameters of torch's fills and copies in a record (verify/protocol/torch_move.h)."""

import struct

import torch

import memory

DIMS_MAX = 8
# By bytes: the type that stands for a type of this size that the judge does not have. Fills and copies only move bits.
STAND_INS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def words(*numbers):
    return struct.pack("<%dQ" % len(numbers), *numbers)


def dtype_of(tensor, others=()):
    """The number of the tensor's type. For a type that the judge does not have: that of its stand-in if all `others` have the
    same type as the tensor, else None."""
    if tensor.dtype in memory.DTYPE_NUMBERS:
        return memory.DTYPE_NUMBERS[tensor.dtype]
    if any(other.dtype != tensor.dtype for other in others):
        return None
    stand_in = STAND_INS.get(tensor.element_size())
    return stand_in and memory.DTYPE_NUMBERS[stand_in]


def reason(what, tensor):
    """Why a fill or copy of such tensors cannot be recorded, or None."""
    if tensor.layout != torch.strided or tensor.device.type not in ("cpu", "cuda"):
        return "%s of a %s tensor on %s" % (what, tensor.layout, tensor.device.type)
    if tensor.is_conj() or tensor.is_neg():
        return "%s of a tensor with lazy bits" % what
    if tensor.dim() > DIMS_MAX:
        return "%s of %d dimensions" % (what, tensor.dim())
    return None


def fill(tensor, element):
    """(parameters, None), or (None, why there are none). `element`: the bytes of one element."""
    number, why = dtype_of(tensor), reason("fill", tensor)
    if why or number is None:
        return None, why or "fill of %s" % tensor.dtype
    value = struct.unpack("<2Q", element.ljust(16, b"\0"))
    return words(tensor.data_ptr(), number, *value, tensor.dim(), *tensor.size(), *tensor.stride()), None


def copy(target, source):
    """The same; `source` can be expanded to the sizes of `target`."""
    numbers = dtype_of(target, (source,)), dtype_of(source, (target,))
    why = reason("copy", target) or reason("copy", source)
    if why or None in numbers:
        return None, why or "copy of %s to %s" % (source.dtype, target.dtype)
    source = source.expand(target.size())
    return words(target.data_ptr(), numbers[0], source.data_ptr(), numbers[1], target.dim(), *target.size(), *target.stride(),
                 *source.stride()), None
