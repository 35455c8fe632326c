# SPDX-License-Identifier: MIT
"""Makes the folder of a run whose texts attack a terminal, and holds the run until this program is killed.

    hold_run.py DIR

The journal has three operators: two whose names and reasons are hostile and that failed, and one that is worked on.
"""

import fcntl
import json
import pathlib
import signal
import sys

HOSTILE = ("\x1b[2J\x1b]0;title\x07", "\u202ereversed\u2066", "\u6f22\u5b57" * 40, "e" + "\u0301" * 300,
           "line\nbreak\r", "y" * 200000)


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def records():
    names = [HOSTILE[0] + "a", HOSTILE[1] + HOSTILE[2], "aten::mm"]
    yield "run_started", {"run": HOSTILE[0] + HOSTILE[1], "dataset": "d", "method": HOSTILE[3], "device_count": 1}
    yield "planned", {"operators": [{"name": name, "safe_name": "op%d" % i} for i, name in enumerate(names)]}
    for name, reason in zip(names, (HOSTILE[3] + HOSTILE[4], HOSTILE[5])):
        yield "operator_ended", {"operator": name, "status": "failed", "code": "agent.no_kernel", "message": reason}
    yield "attempt_started", {"operator": names[2], "attempt": 1, "device": -1, "timeout_ms": 1000, "dir": "attempts/op2/001"}


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True)
    lines = []
    for number, (kind, data) in enumerate(records(), 1):
        head = '{"seq":%d,"time":"2026-11-21T08:00:0%d.000Z","type":"%s","data":%s}' % (
            number, number, kind, json.dumps(data, separators=(",", ":")))
        lines.append('%s,"crc":"%08x"}\n' % (head[:-1], crc32c(head.encode())))
    progress = {"operators": {"aten::mm": {"doing": HOSTILE[0] + HOSTILE[1] + HOSTILE[2]}}}
    with open(folder / "lock", "w", encoding="ascii") as lock:
        fcntl.lockf(lock, fcntl.LOCK_EX)
        (folder / "progress.json").write_text(json.dumps(progress))
        (folder / "journal.jsonl").write_text("".join(lines))
        signal.pause()


if __name__ == "__main__":
    main()
