#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds a target of a preset of this tree, and runs CTest in it when there are arguments for that.
#
#     build_preset.sh PRESET TARGET [CTEST-ARGUMENTS...]
set -eu
preset=${1:?usage: build_preset.sh PRESET TARGET [CTEST-ARGUMENTS...]}
target=${2:?usage: build_preset.sh PRESET TARGET [CTEST-ARGUMENTS...]}
shift 2
cd "$(dirname "$0")/../.."
if [ "$preset" = clang ] && ! command -v clang >/dev/null; then
	echo "no command clang"
	exit 77
fi
log=build/$preset.log
mkdir -p build
if ! cmake --preset "$preset" >"$log" 2>&1 || ! cmake --build --preset "$preset" --target "$target" >>"$log" 2>&1; then
	grep -E '(error|warning):|undefined reference' "$log" | sort -u | head -n 50
	tail -n 5 "$log"
	exit 1
fi
[ $# -eq 0 ] || ctest --preset "$preset" -j 2 --output-on-failure "$@"
