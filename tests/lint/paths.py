#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Files that texts name exist: links of Markdown pages, and paths of our folders in pages and in comments of C, CMake and YAML.

    paths.py [ROOT]    findings as `file:line: fault`; exit status 1 if there are any

A path that holds a placeholder (<name>, *, NAME, NNN, {..}, $x) is not looked up; neither is one that a page's own example
file creates (`<!-- file: PATH -->`, CONTRIBUTING.md).
"""

import os
import pathlib
import re
import sys

FOLDERS = "agent|base|cmake|datasets|deps|docs|methods|sandbox|tests|verify"
PATH = re.compile(r"(?<![\w/.<{$*-])((?:%s)/[\w./-]+\.(?:c|h|py|sh|yaml|md|txt|json|cmake|tsv|ptx))\b(?![*<{])" % FOLDERS)
LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)")
EXAMPLE = re.compile(r"<!-- file: (\S+) -->")
SKIP = ("tests/fixtures", "tests/fuzz/corpus", "tests/redteam", "tests/honest", "build", ".deps", "runs", ".git", ".cache")
PLACEHOLDER = re.compile(r"NAME|NNN|DEVICE|/x\.")


def texts(root):
    """(path, name from the root): pages, and what our folders hold besides tests' C."""
    for folder, folders, names in os.walk(root):
        folder = pathlib.Path(folder)
        folders[:] = sorted(name for name in folders if (folder / name).relative_to(root).as_posix() not in SKIP)
        for name in sorted(names):
            path = folder / name
            where = path.relative_to(root).as_posix()
            if path.suffix in (".md", ".yaml", ".cmake") or name == "CMakeLists.txt" or (
                    path.suffix in (".c", ".h") and not where.startswith("tests/")):
                yield path, where


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[2])
    findings, n = [], 0
    for path, name in texts(root):
        text = path.read_text(encoding="utf-8", errors="replace")
        made = set(EXAMPLE.findall(text))
        for number, line in enumerate(text.splitlines(), 1):
            n += 1
            if "#include" in line or EXAMPLE.search(line):
                continue
            named = [(root / target, target) for target in PATH.findall(line)]
            if path.suffix == ".md":
                named += [(path.parent / target, target) for target in LINK.findall(line)]
            for file, target in named:
                if target not in made and not PLACEHOLDER.search(target) and not file.exists():
                    findings.append("%s:%d: %s does not exist" % (name, number, target))
    for finding in findings:
        print(finding)
    print("lint: %d findings" % len(findings) if findings else "lint: clean (%d lines)" % n)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
