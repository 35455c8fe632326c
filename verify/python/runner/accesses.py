# SPDX-License-Identifier: MIT
"""Checks where an interpreted kernel reads and writes.

The interpreter runs one program after the other in one address space, so that two kinds of broken kernels give right results
there: those that read outside their tensors, and those whose programs depend on each other's order. The access itself reveals
both. Once a launch has used an atomic operation its programs may be waiting for each other, and only
the bounds are checked.
"""

import numpy as np
import triton.runtime.interpreter as interpreter
from triton.tools.tensor_descriptor import TensorDescriptor

NOBODY, SEVERAL = -1, -2


class OutOfBounds(Exception):
    """An access outside of every tensor of the kernel's arguments."""


class Race(Exception):
    """The result depends on the order of programs."""


def tensors_in(values):
    for value in values:
        if isinstance(value, (tuple, list)):
            yield from tensors_in(value)
        elif isinstance(value, TensorDescriptor):
            yield from tensors_in((value.base,))
        elif hasattr(value, "data_ptr"):
            yield getattr(value, "base", value)


class Launch:
    """The memory of one launch: the storages of its arguments, the memory that addresses in them point to, and the program that
    accessed each byte."""

    current = None
    behind = ()  # (address, bytes) of the latter

    def __init__(self, args):
        sizes = dict(self.behind)
        for tensor in tensors_in(args):
            storage = tensor.untyped_storage()
            sizes[storage.data_ptr()] = max(storage.nbytes(), sizes.get(storage.data_ptr(), 0))
        starts = sorted(start for start, size in sizes.items() if size > 0)
        self.starts = np.array([0] + starts, dtype=np.uint64)  # a dummy of no bytes comes first
        self.ends = np.array([0] + [start + sizes[start] for start in starts], dtype=np.uint64)
        n_bytes = (self.ends - self.starts).astype(np.int64)
        self.bases = np.cumsum(n_bytes) - n_bytes
        self.writers = np.full(int(n_bytes.sum()), NOBODY, dtype=np.int32)
        self.readers = np.full(int(n_bytes.sum()), NOBODY, dtype=np.int32)
        self.ordered = False  # by atomic operations

    def places(self, pointers, mask, item, verb):
        """The places of the accessed elements among all bytes of this launch."""
        at = pointers[np.broadcast_to(mask, pointers.shape)].reshape(-1)
        block = np.searchsorted(self.starts, at, side="right") - 1
        bad = at + np.uint64(item) > self.ends[block]
        if bad.any():
            first = int(np.argmax(bad))
            address, end = int(at[first]), int(self.ends[block[first]])
            where = "%d bytes behind the end of a tensor" % (address - end) if 0 <= address - end < 1 << 30 and end else \
                "outside of every tensor"
            raise OutOfBounds("a program %s %d elements that belong to none of the kernel's tensors, the first %s" % (
                verb, int(bad.sum()), where))
        return self.bases[block] + (at - self.starts[block]).astype(np.int64)

    def read(self, pointers, mask, item, program):
        at = self.places(pointers, mask, item, "reads")
        if self.ordered or at.size == 0:
            return
        writers = self.writers[at]
        other = (writers != NOBODY) & (writers != program)
        if other.any():
            raise Race("program %d reads what program %d has written in the same launch, and programs run in any order: "
                       "use an atomic operation or a second launch" % (program, int(writers[np.argmax(other)])))
        readers = self.readers[at]
        self.readers[at] = np.where((readers == NOBODY) | (readers == program), program, SEVERAL)

    def write(self, pointers, values, mask, program):
        at = self.places(pointers, mask, values.dtype.itemsize, "writes")
        if self.ordered or at.size == 0:
            return
        readers = self.readers[at]
        if ((readers != NOBODY) & (readers != program)).any():
            raise Race("program %d writes what another program reads in the same launch, and programs run in any order: "
                       "write to another tensor or use a second launch" % program)
        mask = np.broadcast_to(mask, pointers.shape)
        writers = self.writers[at]
        if ((writers != NOBODY) & (writers != program)).any():
            old = interpreter._interpreter.load(pointers, np.ascontiguousarray(mask), np.zeros_like(values), values.dtype)
            if old[mask].tobytes() != np.broadcast_to(values, pointers.shape)[mask].tobytes():
                raise Race("program %d writes another value where another program has written in the same launch, and "
                           "programs run in any order" % program)
        self.writers[at] = program


def program_of(builder):
    x, y, z = builder.grid_idx
    return int(x + builder.grid_dim[0] * (y + builder.grid_dim[1] * z))


def apply():
    builder = interpreter.InterpreterBuilder
    load, store = builder.create_masked_load, builder.create_masked_store
    rmw, cas = builder.create_atomic_rmw, builder.create_atomic_cas

    def checked_load(self, ptrs, mask, *args, **kwargs):
        item = np.dtype(interpreter._get_np_dtype(ptrs.get_element_ty())).itemsize
        Launch.current.read(ptrs.data, mask.data, item, program_of(self))
        return load(self, ptrs, mask, *args, **kwargs)

    def checked_store(self, ptrs, value, mask, *args, **kwargs):
        Launch.current.write(ptrs.data, value.data, mask.data, program_of(self))
        return store(self, ptrs, value, mask, *args, **kwargs)

    def checked_rmw(self, operation, ptr, val, mask, *args, **kwargs):
        Launch.current.ordered = True
        Launch.current.places(ptr.data, mask.data, val.data.dtype.itemsize, "updates")
        return rmw(self, operation, ptr, val, mask, *args, **kwargs)

    def checked_cas(self, ptr, cmp, val, *args, **kwargs):
        Launch.current.ordered = True
        Launch.current.places(ptr.data, np.True_, val.data.dtype.itemsize, "updates")
        return cas(self, ptr, cmp, val, *args, **kwargs)

    def ordering(function):
        def ordered(self, *args, **kwargs):
            Launch.current.ordered = True
            return function(self, *args, **kwargs)

        return ordered

    for name in ("create_atomic_load", "create_atomic_store", "create_atomic_poll"):
        if hasattr(builder, name):  # not in older Tritons
            setattr(builder, name, ordering(getattr(builder, name)))
    builder.create_masked_load, builder.create_masked_store = checked_load, checked_store
    builder.create_atomic_rmw, builder.create_atomic_cas = checked_rmw, checked_cas
