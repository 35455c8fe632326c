#!/bin/sh
# SPDX-License-Identifier: MIT
# docs/operators.md equals the table that kgb-agent prints: operators.sh BUILD_DIRECTORY
program=$1/bin/kgb-agent
shift
. "$(dirname "$0")/files.sh"

KGB_DATA_DIR=$lint_root "$program" dataset table 2>&1 | diff docs/operators.md - >"$lint_findings" 2>&1 ||
	echo "docs/operators.md is stale: kgb-agent dataset table >docs/operators.md" >>"$lint_findings"
lint_done "$(grep -c '::' docs/operators.md) operators"
