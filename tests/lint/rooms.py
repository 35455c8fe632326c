#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Rooms: which folder of C may include which, how large each is, and whether its files form circles.

    rooms.py [ROOT]            findings as `file:line: fault`; exit status 1 if there are any
    rooms.py --matrix [ROOT]   the rooms with their sizes, and the include matrix

A room is a folder of C files, listed in tests/lint/rooms.txt with the rooms that it includes. A room includes only rooms
that stand above it in that list, so there are no circles of rooms. A circle of files is a set of modules (a .c with its
.h) that include each other; it is allowed only within one noun: modules whose names begin with the same word.
A tag (struct, union, enum) and a function with external linkage are defined once: a name means one thing.
"""

import collections
import os
import pathlib
import re
import sys

FILES_MAX = 25
LINES_MAX = 5000
INCLUDE = re.compile(r'[ \t]*#[ \t]*include[ \t]*"([^"]+)"')
DEFINED = re.compile(r"((?:struct|union|enum) kgb_\w+)(?= \{)|(?!static|extern)\w[\w *]*?\b(kgb_\w+)(?=\([^;]*$)")
HOUSES = ("base", "sandbox", "verify", "methods", "agent", "tests")


def sources(root):
    """Paths of C files below the houses, relative to the root; no fixtures."""
    for house in HOUSES:
        for folder, folders, names in os.walk(root / house):
            folders[:] = sorted(name for name in folders if name not in ("fixtures", "corpus", "honest", "redteam"))
            for name in sorted(names):
                if name.endswith((".c", ".h")):
                    yield (pathlib.Path(folder) / name).relative_to(root).as_posix()


def read_rooms(root, say):
    """{room: rooms that it may include}, in the order of rooms.txt."""
    rooms = {}
    path = root / "tests/lint/rooms.txt"
    for number, line in enumerate(path.read_text().splitlines(), 1):
        line = line.split("#")[0].strip()
        if not line:
            continue
        room, _, below = line.partition(":")
        for name in below.split():
            if name not in rooms:
                say(f"tests/lint/rooms.txt:{number}: {room} may not include {name}, which does not stand above it")
        rooms[room] = set(below.split())
    return rooms


def circles(edges):
    """Strongly connected sets of more than one node (Tarjan)."""
    index, low, stack, found = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in sorted(edges.get(node, ())):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            group = []
            while not group or group[-1] != node:
                group.append(stack.pop())
            if len(group) > 1:
                found.append(sorted(group))

    for node in sorted(edges):
        if node not in index:
            visit(node)
    return sorted(found)


def one_noun(group):
    return len({re.split("[_.]", pathlib.PurePosixPath(stem).name)[0] for stem in group}) == 1


class Tree:
    def __init__(self, root):
        self.findings = []
        self.rooms = read_rooms(root, self.findings.append)
        self.used = collections.defaultdict(set)  # room -> rooms that it includes
        self.files = collections.Counter()
        self.lines = collections.Counter()
        modules = collections.defaultdict(set)
        self.defined = {}  # name -> path:line of its definition
        for path in sources(root):
            room = os.path.dirname(path)
            in_tests = path.startswith("tests/")
            text = (root / path).read_text(errors="replace").splitlines()
            self.files[room] += 1
            self.lines[room] += len(text)
            if not in_tests and room not in self.rooms:
                self.findings.append(f"{path}:1: the folder {room} is no room: list it in tests/lint/rooms.txt")
                self.rooms[room] = set()
            for number, line in enumerate(text, 1):
                if not in_tests:
                    self.define(path, number, line)
                found = INCLUDE.match(line)
                if not found:
                    continue
                target = found.group(1)
                at = f"{path}:{number}: "
                if "/" not in target or target.split("/")[0] not in HOUSES:
                    self.findings.append(f'{at}"{target}" is not a path from the root')
                    continue
                if not (root / target).is_file():
                    self.findings.append(f'{at}"{target}" does not exist')
                    continue
                if in_tests:
                    continue
                other = os.path.dirname(target)
                if other != room:
                    self.used[room].add(other)
                    if other not in self.rooms[room]:
                        self.findings.append(f'{at}{room} may not include "{target}" (tests/lint/rooms.txt)')
                stem, goal = path.rsplit(".", 1)[0], target.rsplit(".", 1)[0]
                if stem != goal:
                    modules[stem].add(goal)
        self.circles = circles(modules)
        self.check()
        self.check_page(root)

    def check_page(self, root):
        page = root / "docs/architecture.md"
        if not page.is_file():
            return
        rows = "".join(line for line in page.read_text().splitlines() if line.startswith("|"))
        for room in self.rooms:
            if f"`{room}/`" not in rows and not room.startswith("verify/python/"):
                self.findings.append(f"docs/architecture.md:1: the table of rooms lacks `{room}/`")

    def define(self, path, number, line):
        found = DEFINED.match(line)
        if not found or found.group(2) and path.endswith(".h"):
            return
        name, at = found.group(1) or found.group(2) + "()", f"{path}:{number}"
        if self.defined.setdefault(name, at) != at:
            self.findings.append(f"{at}: {name} is already defined in {self.defined[name]}: a name means one thing")

    def check(self):
        for room, below in self.rooms.items():
            for name in sorted(below - self.used[room]):
                self.findings.append(f"tests/lint/rooms.txt:1: {room} does not include {name}: strike it out")
            if self.files[room] > FILES_MAX:
                self.findings.append(f"{room}:1: a room of {self.files[room]} files, {FILES_MAX} are the end")
            if self.lines[room] > LINES_MAX:
                self.findings.append(f"{room}:1: a room of {self.lines[room]} lines, {LINES_MAX} are the end")
        for group in self.circles:
            if not one_noun(group):
                self.findings.append(f"{group[0]}.h:1: a circle of files: {' '.join(group)}")

    def print_matrix(self):
        rooms = list(self.rooms)
        width = max(map(len, rooms))
        print(f"{'room':{width}}  files  lines  includes the rooms numbered")
        for i, room in enumerate(rooms):
            marks = "".join("x" if other in self.used[room] else "." for other in rooms[:i])
            print(f"{room:{width}}  {self.files[room]:5}  {self.lines[room]:5}  {marks}")
        print(f"circles of files: {len(self.circles)}, of different nouns: {sum(not one_noun(group) for group in self.circles)}")


def main():
    arguments = [argument for argument in sys.argv[1:] if argument != "--matrix"]
    root = pathlib.Path(arguments[0]) if arguments else pathlib.Path(__file__).resolve().parents[2]
    tree = Tree(root)
    if "--matrix" in sys.argv[1:]:
        tree.print_matrix()
    for finding in tree.findings:
        print(finding)
    print(f"lint: {len(tree.findings)} findings" if tree.findings else f"lint: clean ({sum(tree.files.values())} files)")
    return 1 if tree.findings else 0


if __name__ == "__main__":
    sys.exit(main())
