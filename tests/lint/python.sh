#!/bin/sh
# SPDX-License-Identifier: MIT
# Every Python file compiles; nothing is written beside it.
. "$(dirname "$0")/files.sh"

lint_need python3
files=$(lint_files '*.py')
# shellcheck disable=SC2086 # names of ours have no blanks
python3 - $files >"$lint_findings" 2>&1 <<'EOF'
import ast, sys, warnings
warnings.simplefilter("error", SyntaxWarning)
for name in sys.argv[1:]:
    try:
        with open(name, encoding="utf-8") as file:
            compile(file.read(), name, "exec", ast.PyCF_ONLY_AST)
    except (SyntaxError, SyntaxWarning, UnicodeDecodeError) as error:
        print(f"{name}:{getattr(error, 'lineno', 1)}: {error}")
EOF
lint_done "$(echo "$files" | wc -w) files"
