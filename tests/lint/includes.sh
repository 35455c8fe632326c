#!/bin/sh
# SPDX-License-Identifier: MIT
# Includes between rooms, the sizes of rooms, circles of files: rooms.py, by the list in tests/lint/rooms.txt of the tree.
lint_tree=${1:-$(cd "$(dirname "$0")/../.." && pwd -P)}
exec python3 -B "$(dirname "$0")/rooms.py" "$lint_tree"
