#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures kernel files with radon, for `kgb-agent analyze --quality`.

Standard input has a JSON array of paths. Standard output gets an array of objects in the same order: maintainability (0 to 100);
is_trivial, whether radon found neither operators nor operands (maintainability is 100 then); complexity (cyclomatic, mean over
functions; 0 without a function), complexity_max and lines; or error, the reason why a file has no figures.

The files are text of agents. They are parsed and never run. Each text is parsed once, in a separate process: if the parser
crashes or does not end, only this text has no figures.
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
    except BaseException as error:  # hostile text may make the parser raise anything
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
