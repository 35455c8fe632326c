#!/bin/sh
# SPDX-License-Identifier: MIT
# Every source file names its licence in its first lines.
. "$(dirname "$0")/files.sh"

for file in $(lint_files '*.c' '*.h' '*.py' '*.sh' '*.cmake' CMakeLists.txt bootstrap); do
	head -n 3 "$file" | grep -q 'SPDX-License-Identifier: MIT' ||
		echo "$file:1: no SPDX-License-Identifier: MIT in the first three lines"
done >"$lint_findings"
lint_done "$(lint_files '*.c' '*.h' '*.py' '*.sh' '*.cmake' CMakeLists.txt bootstrap | wc -l) files"
