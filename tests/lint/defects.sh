#!/bin/sh
# SPDX-License-Identifier: MIT
# The evidence that docs/upstream-defects.md names exists: `file: text` in that file, `lint: name` among the lints for which
# t0330 breaks specs.
. "$(dirname "$0")/files.sh"

page=docs/upstream-defects.md
lints=tests/integration/t0330-dataset.sh
grep -no '`[^`]*: [^`]*`' "$page" | while IFS= read -r found; do
	line=${found%%:*}
	item=$(printf '%s\n' "$found" | sed 's/^[0-9]*:`//; s/`$//')
	file=${item%%: *}
	text=${item#*: }
	if [ "$file" = lint ]; then
		grep -qE "(['\"]|\\\\t)$text: " "$lints" || echo "$page:$line: no broken spec for the lint '$text' in $lints"
	elif [ ! -f "$file" ]; then
		echo "$page:$line: there is no '$file'"
	elif ! grep -qF -e "$text" "$file"; then
		echo "$page:$line: '$file' has no '$text'"
	fi
done >"$lint_findings"
n=$(grep -c '^| ' "$page")
[ "$n" -gt 20 ] || echo "$page: hardly any defects are left in it" >>"$lint_findings"
lint_done "$n lines of $page"
