# SPDX-License-Identifier: MIT
"""Stands in for verify/python/runner/recompile.py: a compile worker that hostile text has taken over. Its answer lists the actions
that succeeded: "escaped: ..." for those that the jail should refuse, "works: ..." for those that the real worker needs."""

import ctypes
import os
import socket
import subprocess

import triton

import wire

LIBC = ctypes.CDLL(None, use_errno=True)
NEW_USER, NEW_NET = 0x10000000, 0x40000000
SIGCHLD = 17
SYS_CLONE = {"x86_64": 56, "aarch64": 220}[os.uname().machine]


def prepare():
    pass


def writable(path):
    with open(path, "w", encoding="utf-8"):
        pass


def clone_with(flags):
    pid = LIBC.syscall(SYS_CLONE, flags | SIGCHLD, None, None, None, None)
    if pid == 0:
        os._exit(0)
    if pid < 0:
        raise OSError(ctypes.get_errno(), "clone")
    os.waitpid(pid, 0)


def check(result):
    if result != 0:
        raise OSError(ctypes.get_errno(), "refused")


def program_in_tmp():
    with open("/kgb/tmp/program", "wb") as file:
        file.write(b"#!/bin/sh\nexit 0\n")
    os.chmod("/kgb/tmp/program", 0o755)
    subprocess.run(["/kgb/tmp/program"], check=True)


def fill_tmp():
    for number in range(16):
        with open("/kgb/tmp/%d" % number, "wb") as file:
            file.write(bytes(8 << 20))


def see_gpu():
    if not any(name.startswith("nvidia") for name in os.listdir("/dev")) and not os.environ["CUDA_VISIBLE_DEVICES"]:
        raise OSError("no GPU")


def list_proc():
    if not os.listdir("/proc"):
        raise OSError("empty")


ESCAPES = {
    "internet socket": lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM),
    "unix socket": lambda: socket.socket(socket.AF_UNIX, socket.SOCK_STREAM),
    "write /tmp": lambda: writable("/tmp/x"),
    "write /dev/shm": lambda: writable("/dev/shm/x"),
    "write /home": lambda: writable("/home/agent/x"),
    "write our code": lambda: writable("/kgb/runner/x"),
    "run a program of its own": program_in_tmp,
    "more than its share of /kgb/tmp": fill_tmp,
    "see /proc": list_proc,
    "see a GPU": see_gpu,
    "user namespace by unshare": lambda: check(LIBC.unshare(NEW_USER)),
    "user namespace by clone": lambda: clone_with(NEW_USER),
    "network namespace by clone": lambda: clone_with(NEW_NET),
    "mount": lambda: check(LIBC.mount(b"none", b"/kgb/tmp", b"tmpfs", 0, None)),
    "trace": lambda: check(LIBC.ptrace(0, 0, None, None)),
    "4 GiB beyond its limit": lambda: bytearray(6 << 30),
}
NEEDS = {
    "private files": lambda: writable("/kgb/tmp/x"),
    "another process": lambda: clone_with(0),
    "ptxas": lambda: subprocess.run([triton.knobs.nvidia.ptxas.path, "--version"], check=True,
                                    stdout=subprocess.DEVNULL),
}


def done(tasks):
    names = []
    for name, task in tasks.items():
        try:
            task()
        except (OSError, MemoryError, subprocess.SubprocessError):
            continue
        names.append(name)
    return ", ".join(names)


def answer(request, fds):
    if os.path.exists("/kgb/runner/no_memory.py"):
        return wire.Reply(wire.MEMORY, "no memory")
    return wire.Reply(wire.BAD_REQUEST, "works: %s; escaped: %s;" % (done(NEEDS), done(ESCAPES)))


def main(channel):
    wire.serve(channel, answer)
