#!/bin/sh
# SPDX-License-Identifier: MIT
# Files that pages and comments name exist: paths.py.
lint_tree=${1:-$(cd "$(dirname "$0")/../.." && pwd -P)}
exec python3 -B "$(dirname "$0")/paths.py" "$lint_tree"
