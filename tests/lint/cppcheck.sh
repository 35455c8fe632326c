#!/bin/sh
# SPDX-License-Identifier: MIT
# cppcheck over the sources that BUILD compiles, without the tests (cppcheck does not treat asserts as their end): those that
# sample_files prints.
#
#     cppcheck.sh BUILD [ROOT]
config=$(cd "$(dirname "$0")" && pwd -P)/cppcheck.cfg
build=$(cd "${1:?usage: cppcheck.sh BUILD [ROOT]}" && pwd -P) || exit 2
shift
. "$(dirname "$0")/files.sh"

lint_need cppcheck
lint_need jq
mkdir -p "$build/cppcheck"
lint_choose_commands "$build/compile_commands.json" "$build/cppcheck/compile_commands.json"
cppcheck --project="$build/cppcheck/compile_commands.json" -i"$PWD/tests" --cppcheck-build-dir="$build/cppcheck" --quiet --inline-suppr \
	--enable=warning,performance,portability --inconclusive --suppress=missingIncludeSystem --suppress=preprocessorErrorDirective \
	--library="$config" -j "$(lint_jobs)" \
	--template='{file}:{line}: {severity}: {message} [{id}]' >"$lint_findings" 2>&1
# cppcheck mistakes a folder for a header when an h follows the last dot of its path, and reports that headers cannot be left out.
sed -i '/^cppcheck: filename exclusion does not apply to header/d; /^cppcheck: Please use --suppress/d' "$lint_findings"
lint_done "sources of $build"
