#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the normalized text of kernels (agent/llm/same_kernel.h) with Python's own parser.

    check_same_kernel.py PROGRAM SEED N FILE...

PROGRAM prints normalized texts (tests/helpers/normalize_python.c). Of each FILE, and of N texts that random edits make of the
files, the normalized text must parse to the tree of the text without its docstrings, and must be refused by the parser where the
text is. Other comments, docstrings, blank lines and line breaks within brackets must give the same normalized text.
"""

import ast
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import warnings

warnings.simplefilter("ignore")
PIECES = list("()[]{}:;,.=+-*#\\\"' \t\n@") + ["\n\n", "  ", "    ", '"""', "'''", "f'", 'f"{', "}}", "{{", "rb'", "# x\n", "\\\n",
                                               '    "s"\n', '"s"\n', "else:\n", "def f():\n", "    pass\n", "u'a'", "coding: x", "1e", "é"]


def normalized(program, texts):
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for number, text in enumerate(texts):
            path = pathlib.Path(folder, "%06d.py" % number)
            path.write_bytes(text.encode())
            paths.append(str(path))
        out = b""
        for at in range(0, len(paths), 500):
            out += subprocess.run([program, *paths[at:at + 500]], check=True, capture_output=True).stdout
    return [part.decode() for part in out.split(b"\0")[:-1]]


def without_documentation(tree):
    for node in ast.walk(tree):
        for name in ("body", "orelse", "finalbody"):
            body = getattr(node, name, None)
            while (isinstance(body, list) and len(body) > 1 and isinstance(body[0], ast.Expr)
                   and isinstance(body[0].value, ast.Constant) and isinstance(body[0].value.value, str)):
                del body[0]
    return ast.dump(tree)


def tree_of(text):
    """The tree as text; None: Python refuses it."""
    try:
        return without_documentation(ast.parse(text.encode()))
    except (SyntaxError, ValueError):
        return None


def dress(text, draw):
    """The same program with other comments, blank lines and docstrings."""
    def opener(match):
        return "%s  # words\n\n%s'''Another %d'''\n  # words\n%s" % (match.group(1), match.group(2), draw.randrange(100),
                                                                        match.group(2))
    text = re.sub(r"(?m)^( *def \w+\(.*\):)\n(?: +\"\"\"[^\"]*\"\"\"\n)?( +)(?=[^\s\"])", opener, text)
    return re.sub(r", (?=\w+=)", lambda _: ",\n   " if draw.random() < 0.3 else ",  ", text)


def edit(text, draw):
    for _ in range(draw.randrange(1, 4)):
        at = draw.randrange(len(text) + 1)
        end = min(len(text), at + draw.choice([0, 0, 0, 1, 1, 2, 5]))
        text = text[:at] + draw.choice(PIECES + [""] * 20) + text[end:]
    return text


def main():
    program, seed, n = sys.argv[1], sys.argv[2], int(sys.argv[3])
    draw = random.Random(seed)
    files = [pathlib.Path(path).read_text(encoding="utf-8") for path in sys.argv[4:]]
    texts = files + [edit(draw.choice(files), draw) for _ in range(n)]
    n_given_up = n_refused = 0
    for text, short in zip(texts, normalized(program, texts)):
        if not short and text.strip():
            n_given_up += 1
            continue
        wanted = tree_of(text)
        n_refused += wanted is None
        if tree_of(short) != wanted:
            sys.exit("seed %s: another tree:\n%s\n--- normalized ---\n%s" % (seed, text, short))
    dressed = [dress(text, draw) for text in files]
    plain = dict(zip(files, normalized(program, files)))
    n_equal = 0
    for text, other, short in zip(files, dressed, normalized(program, dressed)):
        if tree_of(other) != tree_of(text):
            continue  # a line of a string looked like a definition
        if plain[text] and plain[text] != short:
            sys.exit("not the same:\n%s\n--- and ---\n%s" % (plain[text], short))
        n_equal += other != text and short != ""
    of_files = sum(not plain[text] for text in files)
    print("%d texts, %d of which Python refuses, %d given up (%d of %d files); %d files in another dress"
          % (len(texts), n_refused, n_given_up, of_files, len(files), n_equal))
    if of_files * 20 > len(files) or n_equal * 2 < len(files) or n_refused * 10 < n:
        sys.exit("too few texts were compared")


main()
