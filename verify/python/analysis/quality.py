#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures kernel files with radon, for `kgb-agent analyze --quality`.

Standard input has a JSON array of paths, standard output gets one of objects in the same order: maintainability (0 to 100),
whether radon found neither operators nor operands (is_trivial: then that index is 100), complexity (cyclomatic, mean over
functions; 0 without one), complexity_max and lines; or error, why a file has no figures.

The files are text of agents. They are parsed, never run, and each text once, in a separate process:
one on which the parser crashes or does not end costs only its own figures.
"""

import collections
import json
import os
import resource
import signal
import stat
import sys

SECONDS, BYTES, FILE_BYTES = 10, 2 << 30, 256 << 10
CHILDREN = len(os.sched_getaffinity(0))
NO_RADON = 3

try:
    from radon.complexity import cc_visit
    from radon.metrics import h_visit, mi_visit
except ImportError:
    sys.exit(NO_RADON)


def read(path):
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(fd, "rb") as file:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise ValueError("it is not a regular file")
        text = file.read(FILE_BYTES + 1)
    if len(text) > FILE_BYTES:
        raise ValueError("it is larger than a kernel may be")
    return text


def measure(text):
    code = text.decode()
    blocks = [block.complexity for block in cc_visit(code)]
    return {
        "maintainability": mi_visit(code, True),
        "is_trivial": h_visit(code).total.volume <= 0,
        "complexity": sum(blocks) / len(blocks) if blocks else 0,
        "complexity_max": max(blocks, default=0),
        "lines": code.count("\n"),
    }


def failure(error):
    return {"error": "%s: %s" % (type(error).__name__, str(error)[:200])}


def child(text, out):
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        answer = measure(text)
    except BaseException as error:  # whatever the text makes of the parser
        answer = failure(error)
    with os.fdopen(out, "w") as pipe:
        json.dump(answer, pipe)


def start(text):
    receive, send = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            child(text, send)
        finally:
            os._exit(0)
    os.close(send)
    return pid, receive


def finish(pid, receive):
    with os.fdopen(receive) as pipe:
        text = pipe.read()
    status = os.waitpid(pid, 0)[1]
    try:
        return json.loads(text)
    except ValueError:
        ending = os.waitstatus_to_exitcode(status)
        return {"error": "the parser ended by %s" % (signal.Signals(-ending).name if ending < 0 else ending)}


def measure_all(texts):
    """{text: answer}"""
    alive, answers = collections.deque(), {}

    def end_first():
        text, child = alive.popleft()
        answers[text] = finish(*child)

    for text in texts:
        if len(alive) == CHILDREN:
            end_first()
        alive.append((text, start(text)))
    while alive:
        end_first()
    return answers


def main():
    files = []
    for path in json.load(sys.stdin):
        try:
            files.append(read(path))
        except (OSError, ValueError) as error:
            files.append(failure(error))
    answers = measure_all(dict.fromkeys(file for file in files if isinstance(file, bytes)))
    json.dump([answers[file] if isinstance(file, bytes) else file for file in files], sys.stdout)


if __name__ == "__main__":
    main()
