# SPDX-License-Identifier: MIT
"""@triton.autotune where nothing runs."""

import random


def benchmark(call, *_, quantiles=None, **__):
    """In place of Triton's benchmark where calls are only recorded: times on the CPU are no measure of a GPU, where any
    configuration that compiles may be the fastest. So each must be right, and a random time decides. As on a GPU, the tuner's
    launches change memory, which the kernel's hooks have to restore."""
    call()
    time_ms = random.SystemRandom().uniform(1, 2)
    return [time_ms] * len(quantiles) if quantiles else time_ms
