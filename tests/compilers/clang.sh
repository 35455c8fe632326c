#!/bin/sh
# SPDX-License-Identifier: MIT
# clang must compile the unit tests that start threads, which must pass under its ThreadSanitizer, and accept the other source files
# that sample_files prints, without a warning.
set -eu
. "$(dirname "$0")/../lint/files.sh"
lint_need clang
lint_need jq
mkdir -p build
log=$PWD/build/clang.log
fail() {
	grep -E '(error|warning):|undefined reference' "$log" | sort -u | head -n 50
	tail -n 5 "$log"
	exit 1
}

cmake --preset clang >"$log" 2>&1 || fail
cmake --build --preset clang --target threaded_tests >>"$log" 2>&1 || fail
lint_choose_commands build/clang/compile_commands.json build/clang/chosen.json
# Of each file the directory, the object, and the command without an output.
jq -r 'unique_by(.file)[] | .directory, (.command | capture(" -o (?<object>[^ ]+)").object), (.command | sub(" -o [^ ]+"; "") | sub(" -c "; " -fsyntax-only "))' \
	build/clang/chosen.json >build/clang/files
# shellcheck disable=SC2016 # expanded by the inner shell
xargs -r -d '\n' -P "$(nproc)" -n 3 sh -c 'cd "$1" && { [ -e "$2" ] || eval "$3"; }' sh <build/clang/files >>"$log" 2>&1 || fail
echo "$(($(wc -l <build/clang/files) / 3)) files accepted"
ctest --preset clang -j 2 --output-on-failure -L '^threads$'
