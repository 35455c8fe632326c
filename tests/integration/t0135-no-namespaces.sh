#!/bin/sh
# SPDX-License-Identifier: MIT
test_description='the real CLIs at level L2, as on a machine without namespaces; its walls are in t0235'
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"
test_require claude jq
export KGB_BWRAP=/nonexistent

if ! kgb-agent add -m naive_cc --isolation L2 --skip-verify --dry-run >out 2>err &&
	grep -q 'isolation L2 is asked for' err; then
	test_skip_all "$(tail -n 1 err)"
fi

program_of() { [ "$1" = cc ] && echo claude || echo "$1"; }
run_bare() {
	code=0
	timeout 300 kgb-agent add -m "naive_$1" --isolation L2 --skip-verify --runs-dir "$1" --json >"out.$1" 2>"log.$1" || code=$?
	echo "$code" >"status.$1"
}
# Is a process of this run's attempt there? Its HOME is in the run.
has_processes() {
	found=$(grep -lsz "^HOME=$TRASH/$1/" /proc/[0-9]*/environ)
	[ -n "$found" ] || return 1
	echo "$found"
}

test_expect_success 'all are run, at the same time, and their processes can be found' '
	for cli in cc codex opencode; do
		! test_have "$(program_of $cli)" || run_bare $cli &
	done
	test_wait_for 60 has_processes cc
	wait
'
for cli in cc codex opencode; do
	program=$(program_of $cli)
	sentence="$program at L2: a kernel is kept, both counts of tokens are the same, no process is left"
	if ! reason=$(test_have "$program"); then
		test_skip "$sentence" "$reason"
		continue
	fi
	export cli
	# shellcheck disable=SC2016 # used in the body
	test_expect_success "$sentence" '
		test_equal 0 "$(cat "status.$cli")" "exit status"
		cp "out.$cli" out.json
		attempt ".end == \"agent.ok\" and .kernel_source == \"message\" and .tokens.agree and .tokens.gateway.output_tokens > 0"
		operator ".status == \"generated\" and .tokens.agree and .tokens.gateway == .tokens.cli"
		attempt ".sandbox.isolation | .level == \"L2\" and .bwrap == null and .landlock_abi > 0"
		attempt ".sandbox.empty.proven and .sandbox.empty.survivors == 0 and .sandbox.probes == []"
		jq -e ".cli.has_result and .cli.unknown_events == 0 and .cli.bad_lines == 0 and .gateway.errors == 0 and .term_signal == 0
			and .sandbox.isolation.level == \"L2\"" "$cli"/*/attempts/aten__add/001/exit.json
		test -s "$cli"/*/kernels/aten__add.py
		test_expect_code 1 has_processes "$cli"
	'
done
test_done
