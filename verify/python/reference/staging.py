# SPDX-License-Identifier: MIT
"""Copies of large memory between the judge's files and the GPU through pinned memory, by several threads. The driver copies other
memory by spinning on a processor, and each page of the files would be mapped first."""

import concurrent.futures
import ctypes
import os

import torch

LEAST = 1 << 20  # bytes from which this is faster than a copy by the driver
PART = 4 << 20
THREADS = 4  # new pages of a file take one processor longer than the copy from the GPU


class Staging:
    def __init__(self):
        self.buffers = [torch.empty(PART, dtype=torch.uint8, pin_memory=True) for _ in range(THREADS)]
        self.bytes = [memoryview((ctypes.c_char * PART).from_address(buffer.data_ptr())).cast("B") for buffer in self.buffers]
        self.ends = [torch.cuda.Event() for _ in range(THREADS)]  # of the latest copy of each
        self.threads = concurrent.futures.ThreadPoolExecutor(THREADS)

    def each(self, value, copy):
        """Call copy(part, place in the value, number of a buffer of its own) for all parts."""
        parts = value.split(PART)

        def some(k):
            for i in range(k, len(parts), THREADS):
                copy(parts[i], i * PART, k)

        list(self.threads.map(some, range(THREADS)))

    def upload(self, fd, at, to):
        """Copy from the file to `to`, one-dimensional bytes on the GPU."""
        def copy(part, place, k):
            whole(os.preadv, fd, [self.bytes[k][:len(part)]], at + place)
            part.copy_(self.buffers[k][:len(part)], non_blocking=True)
            self.ends[k].record()
            self.ends[k].synchronize()

        self.each(to, copy)

    def download(self, value, fd, at):
        """Copy `value`, one-dimensional bytes on the GPU, to the file."""
        def copy(part, place, k):
            self.buffers[k][:len(part)].copy_(part, non_blocking=True)
            self.ends[k].record()
            self.ends[k].synchronize()
            whole(os.pwritev, fd, [self.bytes[k][:len(part)]], at + place)

        self.each(value, copy)


def whole(call, fd, buffers, at):
    """os.preadv or os.pwritev of all bytes."""
    left = buffers[0]
    while left:
        n = call(fd, [left], at)
        if n == 0:
            raise EOFError("the judge's memory ends at %d" % at)
        left, at = left[n:], at + n
