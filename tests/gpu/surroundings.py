#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures disturbances of a memory-bound timed call: memory that was freed before the call, and ways to flush the caches.

    surroundings.py [--only clearing,flush]

clearing   an add of 64 MiB tensors after so many MiB were allocated and freed: the time until it is no longer slower
flush      the same add, a sum and a copy after several ways to empty the L2 cache: median, scatter, and whether a fast call
           is followed by a slow one (correlation of neighbours)

Prints figures for docs/timing-evidence.md. Needs torch and an otherwise idle GPU; exit status 77 without.
"""

import argparse
import ctypes
import statistics
import sys
import time

try:
    import torch
except ImportError:
    torch = None

MIB = 1 << 20
SLOW = 1.04  # times the median of quiet calls
QUIET = 5  # calls in a row that are not slow


class Location(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("id", ctypes.c_int)]


class Properties(ctypes.Structure):
    """CUmemAllocationProp: pinned, on device 0."""
    _fields_ = [("type", ctypes.c_int), ("handles", ctypes.c_int), ("location", Location), ("meta", ctypes.c_void_p),
                ("flags", ctypes.c_ubyte * 32)]


def make_and_give_back(cuda, mib):
    handle, properties = ctypes.c_ulonglong(), Properties(1, 0, Location(1, 0), None)
    status = cuda.cuMemCreate(ctypes.byref(handle), ctypes.c_size_t(mib * MIB), ctypes.byref(properties), ctypes.c_ulonglong(0))
    status = status or cuda.cuMemRelease(handle)
    if status:
        raise SystemExit("cuMemCreate or cuMemRelease: error %d" % status)


class Bench:
    def __init__(self):
        l2 = torch.cuda.get_device_properties(0).L2_cache_size
        self.x, self.y = (torch.randn(16 * MIB, device="cuda") for _ in range(2))
        self.z = torch.empty_like(self.x)
        self.images = [torch.randn(2, 16 * MIB, device="cuda") for _ in range(4)]
        self.large = torch.zeros(2 * l2 // 4, device="cuda")
        self.sink = torch.zeros((), device="cuda")
        self.events = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(400)]
        self.calls = 0
        self.work = {"add 3 x 64 MiB": lambda: torch.add(self.x, self.y, out=self.z),
                     "sum of 64 MiB": lambda: torch.sum(self.x, dim=0, out=self.sink),
                     "copy of 64 MiB": lambda: self.z.copy_(self.x)}

    def renew(self):
        """As the judge does before each sample: results random, inputs from one of several images."""
        image = self.images[self.calls % len(self.images)]
        self.z.fill_(float(self.calls))
        self.x.copy_(image[0])
        self.y.copy_(image[1])

    def flush_writing(self):
        self.large.fill_(float(self.calls))

    def flush_reading(self):
        torch.sum(self.large, dim=0, out=self.sink)

    def series(self, n, prepare, work):
        """(ms since the start, us) of n calls."""
        begun, at = time.perf_counter(), []
        for begin, end in self.events[:n]:
            for step in prepare:
                step()
            begin.record()
            work()
            end.record()
            torch.cuda.synchronize()
            self.calls += 1
            at.append((time.perf_counter() - begun) * 1e3)
        return [(ms, begin.elapsed_time(end) * 1e3) for ms, (begin, end) in zip(at, self.events)]


def clearing(bench):
    cuda = ctypes.CDLL("libcuda.so.1")
    work, prepare = bench.work["add 3 x 64 MiB"], [bench.flush_writing]
    quiet = statistics.median(us for _, us in bench.series(400, prepare, work))
    print("| given back, MiB | slow until, ms | first calls, us |\n|---|---|---|")
    for mib in (0, 2, 16, 64, 256, 512, 1024, 2048, 4096):
        for _ in range(3):
            time.sleep(0.1)
            bench.series(20, prepare, work)
            if mib:
                make_and_give_back(cuda, mib)
            calls = bench.series(300, prepare, work)
            run, until = 0, None
            for (ms, us), before in zip(calls, [0.0] + [ms for ms, _ in calls]):
                until = before if run == 0 else until
                run = run + 1 if us < SLOW * quiet else 0
                if run == QUIET:
                    break
            print("| %d | %s | %s |" % (mib, "%.2f" % until if run == QUIET else "-", " ".join("%.1f" % us for _, us in calls[:12])))
    print("\nquiet: %.2f us\n" % quiet, flush=True)


def neighbours(values):
    """Correlation of each value with the next."""
    middle = statistics.mean(values)
    apart = [value - middle for value in values]
    squares = sum(value * value for value in apart)
    return sum(a * b for a, b in zip(apart, apart[1:])) / squares if squares else 0.0


def flush(bench):
    kinds = (("written", [bench.flush_writing]), ("written, then read", [bench.flush_writing, bench.flush_reading]),
             ("read", [bench.flush_reading]), ("written, inputs new", [bench.renew, bench.flush_writing]),
             ("written, then read, inputs new", [bench.renew, bench.flush_writing, bench.flush_reading]))
    print("| call | flush | median us | sd % | 5 % to 95 % | neighbours |\n|---|---|---|---|---|---|")
    for name, work in bench.work.items():
        for kind, prepare in kinds:
            bench.series(50, prepare, work)
            values = [us for _, us in bench.series(400, prepare, work)][10:]
            ranks, middle = sorted(values), statistics.median(values)
            print("| %s | %s | %.2f | %.2f | %.2f to %.2f | %.2f |" % (
                name, kind, middle, 100 * statistics.pstdev(values) / middle, ranks[len(ranks) // 20], ranks[-len(ranks) // 20],
                neighbours(values)), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="clearing,flush")
    parts = parser.parse_args().only.split(",")
    if torch is None or not torch.cuda.is_available():
        print("no GPU, or no torch for it")
        return 77
    print("%s, torch %s, %s\n" % (torch.cuda.get_device_name(0), torch.__version__, time.strftime("%Y-%m-%d %H:%M", time.gmtime())))
    bench = Bench()
    bench.series(400, [bench.renew, bench.flush_writing], bench.work["add 3 x 64 MiB"])
    for part in parts:
        {"clearing": clearing, "flush": flush}[part](bench)
    return 0


if __name__ == "__main__":
    sys.exit(main())
