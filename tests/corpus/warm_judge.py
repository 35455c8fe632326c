# SPDX-License-Identifier: MIT
"""Warm worker processes of kgb-judge, and the Python that they need."""

import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
END_S = 60


def find_python(given):
    """A Python that should have torch and triton; None: there is none."""
    for path in (given, os.environ.get("KGB_PYTHON"), str(ROOT / ".deps" / "venv" / "bin" / "python")):
        if path and os.access(path, os.X_OK):
            return path
    return None


class Zygotes:
    """For `kgb-judge verify --zygotes DIRECTORY`; `ready` tells whether they started. They end when their stdin closes."""

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
