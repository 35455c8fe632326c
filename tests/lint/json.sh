#!/bin/sh
# SPDX-License-Identifier: MIT
# Every JSON file parses and has no key twice.
. "$(dirname "$0")/files.sh"

lint_need python3
files=$(lint_files '*.json')
# shellcheck disable=SC2086 # names of ours have no blanks
python3 - $files >"$lint_findings" 2>&1 <<'EOF'
import json, sys

def unique(pairs):
    keys = [key for key, _ in pairs]
    twice = {key for key in keys if keys.count(key) > 1}
    if twice:
        raise ValueError(f"keys given twice: {sorted(twice)}")
    return dict(pairs)

for name in sys.argv[1:]:
    try:
        with open(name, encoding="utf-8") as file:
            json.load(file, object_pairs_hook=unique)
    except ValueError as error:
        print(f"{name}:{getattr(error, 'lineno', 1)}: {error}")
EOF
lint_done "$(echo "$files" | wc -w) files"
