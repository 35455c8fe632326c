# SPDX-License-Identifier: MIT
"""Copies of large memory between the judge's files and the GPU through pinned memory. The driver copies other memory by spinning on
a processor, and each page of the files would be mapped first."""

import ctypes
import os

import torch

LEAST = 1 << 20  # bytes from which this is faster than a copy by the driver
PART = 4 << 20
BUFFERS = 2


class Staging:
    def __init__(self):
        self.buffers = [torch.empty(PART, dtype=torch.uint8, pin_memory=True) for _ in range(BUFFERS)]
        self.bytes = [memoryview((ctypes.c_char * PART).from_address(buffer.data_ptr())).cast("B") for buffer in self.buffers]
        self.ends = [torch.cuda.Event() for _ in range(BUFFERS)]  # of the latest copy of each

    def upload(self, fd, at, to):
        """Copy from the file to `to`, one-dimensional bytes on the GPU."""
        for i, part in enumerate(to.split(PART)):
            k = i % BUFFERS
            self.ends[k].synchronize()
            whole(os.preadv, fd, [self.bytes[k][:len(part)]], at + i * PART)
            part.copy_(self.buffers[k][:len(part)], non_blocking=True)
            self.ends[k].record()

    def download(self, value, fd, at):
        """Copy `value`, one-dimensional bytes on the GPU, to the file."""
        parts = value.split(PART)

        def begin(i):
            if i < len(parts):
                self.buffers[i % BUFFERS][:len(parts[i])].copy_(parts[i], non_blocking=True)
                self.ends[i % BUFFERS].record()

        for i in range(BUFFERS):
            begin(i)
        for i, part in enumerate(parts):
            self.ends[i % BUFFERS].synchronize()
            whole(os.pwritev, fd, [self.bytes[i % BUFFERS][:len(part)]], at + i * PART)
            begin(i + BUFFERS)


def whole(call, fd, buffers, at):
    """os.preadv or os.pwritev of all bytes."""
    left = buffers[0]
    while left:
        n = call(fd, [left], at)
        if n == 0:
            raise EOFError("the judge's memory ends at %d" % at)
        left, at = left[n:], at + n
