#!/bin/sh
# SPDX-License-Identifier: MIT
# Each header that sample_files prints compiles alone, and twice in one file (it includes what it needs and has a guard).
. "$(dirname "$0")/files.sh"

cc=${CC:-gcc}
lint_need "$cc"
lint_need pkg-config
flags=$(pkg-config --cflags libuv libgit2 libcurl yaml-0.1 libcjson libpcre2-8 libmicrohttpd libseccomp libcrypto cmocka) || exit 1
headers=$(lint_files '*.h' | sample_files)
# A header that includes one of CUDA is checked only where the build found CUDA's headers: KGB_CUDA_FOLDERS.
if [ -n "${KGB_CUDA_FOLDERS:-}" ]; then
	for folder in $KGB_CUDA_FOLDERS; do
		flags="$flags -isystem $folder"
	done
else
	# shellcheck disable=SC2086 # names are words
	headers=$(printf '%s\n' $headers | grep -vE '^(verify/cuda|verify/trace|verify/exec|tests/gpu|tests/unit/verify/trace)/')
fi
# shellcheck disable=SC2086 # flags are words
for header in $headers; do
	printf '#include "%s"\n#include "%s"\n' "$header" "$header" |
		"$cc" -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Werror -I. $flags -fsyntax-only -x c - 2>&1 |
		grep -E 'error|warning' | sed "s|^|$header: |"
done >"$lint_findings"
lint_done "$(echo "$headers" | wc -w) headers"
