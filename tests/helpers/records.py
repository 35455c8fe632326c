# SPDX-License-Identifier: MIT
"""A separate reader of records (verify/protocol/record_format.h), for tests."""

import dataclasses
import struct

KINDS = ("launch", "memset", "copy", "upload", "download", "event_record", "event_wait", "sync", "unsupported")


@dataclasses.dataclass
class Op:
    kind: str
    stream: int
    fields: dict


@dataclasses.dataclass
class Window:
    number: int
    ops: list
    blocks: list  # (address, bytes, foreign, before)

    def of(self, kind):
        return [op for op in self.ops if op.kind == kind]

    def why(self):
        return [op.fields["why"] for op in self.of("unsupported")]

    def kernels(self):
        return [op.fields["kernel"] for op in self.of("launch")]


def read_op(body):
    kind, zero, stream = struct.unpack_from("<IIQ", body)
    assert zero == 0
    kind, rest, fields = KINDS[kind], body[16:], {}
    if kind == "launch":
        (fields["image"], *numbers) = struct.unpack_from("<I3I3IIiIII", rest)
        fields["grid"], fields["block"] = tuple(numbers[0:3]), tuple(numbers[3:6])
        fields["shared"], fields["carveout"], n_attrs, n_params, n_name = numbers[6:]
        at = 48
        fields["params"] = rest[at:at + n_params]
        at += n_params
        fields["attrs"] = [(struct.unpack_from("<I", rest, at + 68 * i)[0], rest[at + 68 * i + 4:at + 68 * (i + 1)])
                           for i in range(n_attrs)]
        at += 68 * n_attrs
        name = rest[at:at + n_name]
        assert len(name) == n_name and name[-1] == 0 and at + n_name == len(rest)
        fields["kernel"] = name[:-1].decode()
    elif kind == "memset":
        names = ("dst", "pitch", "width", "height", "value", "element")
        fields = dict(zip(names, struct.unpack("<QQQQII", rest)))
    elif kind == "copy":
        fields = dict(zip(("dst", "src", "bytes"), struct.unpack("<QQQ", rest)))
    elif kind == "upload":
        fields["dst"], fields["bytes"] = struct.unpack_from("<QQ", rest)
        fields["data"] = rest[16:]
        assert len(fields["data"]) == fields["bytes"]
    elif kind == "download":
        fields["src"], fields["bytes"] = struct.unpack("<QQ", rest)
    elif kind in ("event_record", "event_wait"):
        (fields["event"],) = struct.unpack("<Q", rest)
    elif kind == "unsupported":
        fields["why"] = rest[:-1].decode()
    return Op(kind, stream, fields)


def read_record(data):
    magic, version = struct.unpack_from("<II", data)
    assert magic == 0x4352474b and version == 1, "header"
    at, windows, images, window = 8, {}, {}, None
    while at < len(data):
        tag, n = struct.unpack_from("<II", data, at)
        body = data[at + 8:at + 8 + n]
        assert len(body) == n, f"chunk at {at} is cut"
        at += 8 + (n + 7) // 8 * 8
        if tag == 1:
            images[struct.unpack_from("<I", body)[0]] = body[8:]
        elif tag == 2:
            assert window is None
            window = Window(struct.unpack_from("<I", body)[0], [], [])
        elif tag == 3:
            windows[window.number] = window
            window = None
        elif tag == 4:
            address, n_bytes, flags, _ = struct.unpack("<QQII", body)
            window.blocks.append((address, n_bytes, bool(flags & 1), bool(flags & 2)))
        elif tag == 5:
            window.ops.append(read_op(body))
        else:
            raise AssertionError(f"chunk of tag {tag}")
    assert window is None, "the last window does not end"
    return windows, images
