# SPDX-License-Identifier: MIT
"""Memory that the runner hands to candidate code: tensors over the judge's arena, and a guarded heap for what the
candidate allocates itself.

Every block is poisoned and lies between guards of random bytes; a kernel that writes past its tensor gets an error with the
tensor's name instead of corrupting the allocator of the process.
"""

import mmap
import random
import warnings

import torch

import wire

ARENA_ADDRESS = 0x135700000000  # KGB_ARENA_ADDRESS of verify/protocol/record.h: arguments may hold addresses in it
GUARD_BYTES = 64 << 10
ALIGN = 64
SHARED = torch.frombuffer  # the function itself: calls by that name are taken for the candidate's

TORCH_DTYPES = tuple(getattr(torch, name) for name in wire.DTYPES)
DTYPE_NUMBERS = {dtype: number for number, dtype in enumerate(TORCH_DTYPES)}


def address_of(mapping):
    return SHARED(mapping, dtype=torch.uint8).data_ptr()


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


class Block:
    """One allocation in a separate mapping: guard, tensor, guard. Lives as long as a tensor views it."""

    def __init__(self, n_bytes, guard, label):
        self.end = GUARD_BYTES + n_bytes
        self.label = label
        self.mapping = mmap.mmap(-1, self.end + GUARD_BYTES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self.mapping[:GUARD_BYTES] = guard
        self.mapping[self.end:] = guard

    def damage(self, guard):
        """A sentence about overwritten guards, or None."""
        before, after = self.mapping[:GUARD_BYTES], self.mapping[self.end:]
        if after != guard:
            changed = [i for i in range(GUARD_BYTES) if after[i] != guard[i]]
            return "%d bytes behind the end of a %s were overwritten, the farthest %d bytes behind it" % (
                len(changed), self.label, changed[-1] + 1)
        if before != guard:
            changed = [i for i in range(GUARD_BYTES) if before[i] != guard[i]]
            return "%d bytes before the start of a %s were overwritten, the farthest %d bytes before it" % (
                len(changed), self.label, GUARD_BYTES - changed[0])
        return None


class Heap:
    """The blocks of one call."""

    def __init__(self):
        self.begin_call(0, 0)

    def begin_call(self, poison, seed):
        """poison: byte that fresh memory is filled with, or None for random bytes. The judge's seed makes random bytes
        the same when a verification is repeated."""
        self.blocks = []
        self.poison = poison
        self.random = random.Random(seed)
        self.guard = self.random.randbytes(GUARD_BYTES)

    def take(self, like, keep_values):
        """A poisoned tensor of the same dtype, sizes and strides as `like` (values copied when keep_values), or `like`
        itself where that cannot be."""
        sizes, strides = tuple(like.size()), tuple(like.stride())
        n_elements = reach_of(sizes, strides)
        n_bytes = n_elements * like.element_size()
        if n_bytes == 0 or like.dtype not in DTYPE_NUMBERS:
            return like
        block = Block(n_bytes, self.guard, "%s%s" % (wire.DTYPES[DTYPE_NUMBERS[like.dtype]], list(sizes)))
        self.blocks.append(block)
        tensor = tensor_at(block.mapping, GUARD_BYTES, like.dtype, n_elements, sizes, strides, 0)
        if keep_values:
            tensor.copy_(like)
        elif self.poison is None:
            block.mapping[GUARD_BYTES:block.end] = self.random.randbytes(n_bytes)
        else:
            block.mapping[GUARD_BYTES:block.end] = bytes((self.poison,)) * n_bytes
        return tensor

    def contents(self):
        """Of every block: its number, and its bytes."""
        return ((number, block.mapping[GUARD_BYTES:block.end]) for number, block in enumerate(self.blocks))

    def damage(self):
        """A sentence about the first guard that was overwritten, or None."""
        for block in self.blocks:
            damage = block.damage(self.guard)
            if damage:
                return damage
        return None


class History:
    """The contents of memory before each launch and after it, and at the end of a call. The judge determines their origin from
    `log` (verify/ablation/result_origin.h)."""

    BY_HOST, BY_KERNEL = 0, 1
    BYTES_MAX = 64 << 20

    def __init__(self):
        self.log = bytearray()
        self.known = {}
        self.overflowed = False

    def note(self, who, contents):
        """contents: pairs of a block's name and its bytes. Unchanged blocks are left out."""
        for name, data in contents:
            if self.known.get(name) == hash(data):
                continue
            self.known[name] = hash(data)
            if len(self.log) + len(data) > self.BYTES_MAX:
                self.overflowed = True
                return
            self.log += who.to_bytes(8, "little") + len(data).to_bytes(8, "little") + data + bytes(-len(data) % 16)
