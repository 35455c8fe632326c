# SPDX-License-Identifier: MIT
"""Calls of kgb-judge: its warm worker processes, the Python that they need, and requests."""

import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
END_S = 60


def find_python(given):
    """The Python that has torch and triton; None: there is none."""
    for path in (given, os.environ.get("KGB_PYTHON"), str(ROOT / ".deps" / "venv" / "bin" / "python")):
        if path and os.access(path, os.X_OK):
            return path
    return None


def has_torch():
    """Starts this program again with find_python's if this Python has no torch and triton. False: neither has."""
    try:
        import torch  # noqa: F401
        import triton  # noqa: F401
        return True
    except ImportError:
        python = find_python(None)
        if python and python != sys.executable:
            os.execv(python, [python, "-B", "-W", "ignore", *sys.argv])
        return False


def spec_of(operator):
    """The specification of an operator of the dataset, by its full name."""
    name = operator.replace("::", "__").replace(".", "_") + ".yaml"
    found = list((ROOT / "datasets" / "kernelgenbench").glob("*/" + name))
    if len(found) != 1:
        raise SystemExit("no specification of %s" % operator)
    return found[0]


def request(**keys):
    """The request to kgb-judge with these keys, without those that are None."""
    given = {key: value if isinstance(value, (bool, int)) else str(value) for key, value in keys.items() if value is not None}
    return json.dumps(given).encode()


def ask(judge, wall_s, **keys):
    """Runs kgb-judge on a request; returns the finished process, whose stdout is the verdict."""
    return subprocess.run([judge, "verify"], input=request(**keys), capture_output=True, timeout=wall_s, check=False)


def request_fd(**keys):
    """A descriptor from which a started process reads that request."""
    fd = os.memfd_create("request")
    os.write(fd, request(**keys))
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


class Zygotes:
    """For requests with `zygotes`: DIRECTORY; `ready` is true when they have started. They end when their stdin closes."""

    def __init__(self, judge, directory, device, python):
        self.directory, self.device = str(directory), device
        argv = [judge, "zygotes", "--dir", self.directory, "--device", device, "--die-with-parent", str(os.getpid())]
        if python:
            argv += ["--python", python]
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.ready = self.process.stdout.readline().strip() == "ready"

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=END_S)
