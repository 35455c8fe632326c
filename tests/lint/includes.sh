#!/bin/sh
# SPDX-License-Identifier: MIT
# Includes go one way only: base <- sandbox <- verify <- methods <- agent. The judge and the runner see of
# sandbox only isolation/. Our headers are named by their path from the root; tests may include anything.
. "$(dirname "$0")/files.sh"

lint_files '*.c' '*.h' | grep -E '^(base|sandbox|verify|methods|agent|tests)/' >"$lint_findings.list"
n=$(wc -l <"$lint_findings.list")
xargs -r awk '
	BEGIN {
		may["base"] = " base "
		may["sandbox"] = " base sandbox "
		may["verify"] = " base sandbox verify "
		may["methods"] = " base sandbox verify methods "
		may["agent"] = " base sandbox verify methods agent "
		may["tests"] = " base sandbox verify methods agent tests "
	}
	/^[ \t]*#[ \t]*include[ \t]*"/ {
		split($0, quoted, "\"")
		inc = quoted[2]
		split(FILENAME, at, "/")
		n_parts = split(inc, to, "/")
		if (n_parts < 2 || !(to[1] in may)) {
			printf "%s:%d: \"%s\" is not a path from the root\n", FILENAME, FNR, inc
			next
		}
		if ((getline line < inc) < 0)
			printf "%s:%d: \"%s\" does not exist\n", FILENAME, FNR, inc
		close(inc)
		if (index(may[at[1]], " " to[1] " ") == 0)
			printf "%s:%d: %s may not include \"%s\"\n", FILENAME, FNR, at[1], inc
		else if (FILENAME ~ /^verify\/(judge|runner|trace|cublas)\// && inc ~ /^sandbox\// && inc !~ /^sandbox\/isolation\//)
			printf "%s:%d: of sandbox only isolation/ may be included here, not \"%s\"\n", FILENAME, FNR, inc
	}
' <"$lint_findings.list" >"$lint_findings"
rm -f "$lint_findings.list"
lint_done "$n files"
