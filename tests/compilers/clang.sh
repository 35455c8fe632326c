#!/bin/sh
# SPDX-License-Identifier: MIT
# clang must accept the source files that lint_choose prints without a warning, and the unit tests that start threads must
# pass under its ThreadSanitizer. Only what these tests need is built.
set -eu
. "$(dirname "$0")/../lint/files.sh"
for command in clang jq; do
	if ! command -v "$command" >/dev/null; then
		echo "no command $command"
		exit 77
	fi
done
mkdir -p build
log=$PWD/build/clang.log
fail() {
	grep -E '(error|warning):|undefined reference' "$log" | sort -u | head -n 50
	tail -n 5 "$log"
	exit 1
}

cmake --preset clang >"$log" 2>&1 || fail
lint_choose_commands build/clang/compile_commands.json build/clang/chosen.json
# Of each file the directory and the command, without an output.
jq -r 'unique_by(.file)[] | .directory, (.command | sub(" -o [^ ]+"; "") | sub(" -c "; " -fsyntax-only "))' \
	build/clang/chosen.json >build/clang/files
# shellcheck disable=SC2016 # expanded by the inner shell
xargs -r -d '\n' -P "$(nproc)" -n 2 sh -c 'cd "$1" && eval "$2"' sh <build/clang/files >>"$log" 2>&1 || fail
echo "$(($(wc -l <build/clang/files) / 2)) files accepted"
cmake --build --preset clang --target threaded_tests >>"$log" 2>&1 || fail
ctest --preset clang -j 2 --output-on-failure -L '^threads$'
