# SPDX-License-Identifier: MIT
"""The worker's end of the wire: requests are JSON datagrams with descriptors, replies one fixed struct each.

The layout is that of struct kgb_wire_reply in verify/protocol/wire.h; tests/unit/verify/test_wire.c compares the two.
"""

import json
import socket
import struct

MAGIC = 0x5242474B
VERSION = 1
REQUEST_MAX = 64 << 10
DIMS = 8
OUTPUTS = 24
LAUNCHES = 32
OPS = 8
NAME = 64
TEXT = 4096
FDS_MAX = 4

OK, EXCEPTION, EXIT, MEMORY, GUARD, BAD_REQUEST, DEVICE, COMPILE, UNSUPPORTED, NEEDS_LAUNCHES = range(10)
NONE, TENSOR, OTHER, NUMBER = range(4)
FRESH, ARENA = range(2)

# As enum kgb_dtype.
DTYPES = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64",
          "float8_e4m3fn", "complex64", "complex128")

_HEADER = struct.Struct("<IHHQqIIIIII")
_OUTPUT = struct.Struct("<BBBBI8q8qQqq64s")
_LAUNCH = struct.Struct("<64sq")
_OP = struct.Struct("<64s")


def _text(value, size):
    """At most size - 1 bytes of UTF-8, cut between characters."""
    return value.encode("utf-8", "replace")[:size - 1].decode("utf-8", "ignore").encode("utf-8")


class Output:
    """One returned value."""

    def __init__(self, kind, type_name=""):
        self.kind = kind
        self.type_name = type_name
        self.dtype = 0
        self.where = FRESH
        self.sizes = ()
        self.strides = ()
        self.address = 0
        self.offset = 0
        self.n_bytes = 0

    def pack(self):
        pad = (0,) * (DIMS - len(self.sizes))
        return _OUTPUT.pack(self.kind, self.dtype, len(self.sizes), self.where, 0, *self.sizes, *pad, *self.strides,
                            *pad, self.address, self.offset, self.n_bytes, _text(self.type_name, NAME))


class Reply:
    """The reply to one request."""

    def __init__(self, status=OK, text="", line=0):
        self.status = status
        self.text = text
        self.line = line
        self.value = 0
        self.outputs = []
        self.launches = {}
        self.ops = []

    def pack(self, request_id):
        outputs = self.outputs[:OUTPUTS]
        launches = list(self.launches.items())[:LAUNCHES]
        ops = self.ops[:OPS]
        text = _text(self.text, TEXT)
        parts = [_HEADER.pack(MAGIC, VERSION, self.status, request_id, self.value, len(outputs), len(launches),
                              len(ops), self.line, len(text), 0)]
        parts.extend(output.pack() for output in outputs)
        parts.append(bytes(_OUTPUT.size * (OUTPUTS - len(outputs))))
        parts.extend(_LAUNCH.pack(_text(name, NAME), count) for name, count in launches)
        parts.append(bytes(_LAUNCH.size * (LAUNCHES - len(launches))))
        parts.extend(_OP.pack(_text(name, NAME)) for name in ops)
        parts.append(bytes(_OP.size * (OPS - len(ops))))
        parts.append(text.ljust(TEXT, b"\0"))
        return b"".join(parts)


NUMBER_TYPES = {bool: "bool", int: "int64", float: "float64"}


def receive(channel):
    """The next request and its descriptors; (None, []) when the judge has closed the channel."""
    try:
        data, fds, _, _ = socket.recv_fds(channel, REQUEST_MAX, FDS_MAX)
    except ConnectionResetError:
        return None, []  # closed before it read the last reply
    if not data:
        return None, []
    return json.loads(data), fds


def serve(channel, handle):
    """Answer requests until the judge closes the channel. handle(request, fds) returns a Reply."""
    while True:
        request, fds = receive(channel)
        if request is None:
            return
        reply = handle(request, fds)
        try:
            channel.send(reply.pack(request["id"]))
        except (BrokenPipeError, ConnectionResetError):
            return  # the judge no longer waits for the reply


def call_arguments(described, value_of, sequence=list):
    """Positional and keyword arguments of a call. Consecutive arguments of one list become a Python sequence of this type, and so
    do lists of numbers. An argument that is the "same" as an earlier one, by its number, is that very object."""
    args, kwargs, last, values = [], {}, None, []
    for arg in described:
        value, name, in_list = values[arg["same"]] if "same" in arg else value_of(arg), arg.get("name"), arg.get("list")
        values.append(value)
        if in_list and in_list == last:
            (kwargs[name] if name else args[-1]).append(value)
            continue
        last = in_list
        if in_list:
            value = [value]
        if name:
            kwargs[name] = value
        else:
            args.append(value)

    def given(value):
        return sequence(value) if isinstance(value, list) else value
    return [given(value) for value in args], {name: given(value) for name, value in kwargs.items()}
