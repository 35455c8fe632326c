#!/bin/sh
# SPDX-License-Identifier: MIT
test_description='what cannot go well, or has no effect, is said before a run starts'
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"
test_require sandbox torch jq
. "$KGB_TEST_SOURCE_DIR/tests/integration/fake_cli.sh"

printf 'echo x >/ws/kernel.py\nresult done\n' | fake_cli
export KGB_CLAUDE_BIN="$TRASH/cli"

# dry OPTION...: plans a run of five operators.
dry() { kgb-agent add,mm,silu,softmax,sum --set run.method=naive_cc --dry-run "$@"; }

test_expect_success 'open files for fewer attempts than wanted: one line with the limit and the remedy, and fewer at a time' '
	(ulimit -n 176 && dry --device-count 210 >out 2>err) &&
	test_grep "3 operators at a time instead of 210: 176 open files are allowed.*for more: ulimit -n 1024" err &&
	test_grep "3 at a time" out &&
	(ulimit -n 1024 && dry --device-count 210 >out 2>err) && test_no_grep "at a time instead" err
'
test_expect_success 'open files for no attempt: refused with exit 4, nothing is created, and the sandbox is not blamed' '
	(ulimit -n 120 && test_expect_code 4 kgb-agent add -m naive_cc 2>err) &&
	test_grep "no attempt can start: 120 open files are allowed.*: ulimit -n 1024" err && test ! -e runs &&
	(ulimit -n 120 && test_expect_code 4 kgb-agent doctor >out) &&
	test_grep "^FAIL  limits .*no attempt can start: 120 open files" out && test_no_grep "install bubblewrap" out
'
test_expect_success 'doctor shows the same computation' '
	(ulimit -n 176 && kgb-agent doctor --set run.device_count=210 >out || true) &&
	test_grep "^WARN  limits .*210 attempts at a time are wanted, 3 fit: 176 open files are allowed" out &&
	(ulimit -n 1024 && kgb-agent doctor >out || true) &&
	test_grep "^PASS  limits .*attempts at a time: open files for 109, .*memory for .*disk for " out
'
test_expect_success 'no descriptors left while it runs: the next start waits, and nothing that runs is cancelled' '
	printf "echo x >/ws/kernel.py\nsleep 4\nresult done\n" | fake_cli && rm -rf runs &&
	{
		kgb-agent add,mm,silu,softmax,sum -m naive_cc --skip-verify --device-count 2 --json >out.json 2>err &
		pid=$!
	} &&
	test_wait_for 60 sh -c "[ \$(ls runs/*/attempts/ | wc -l) -eq 2 ]" && sleep 1 &&
	prlimit --pid $pid --nofile=28:1024 && test_wait_for 60 test_grep "its start is delayed: .*Too many open files" err &&
	prlimit --pid $pid --nofile=1024:1024 && wait $pid &&
	jq -e "[.operators[].status] | length == 5 and all(. == \"generated\")" out.json
'
if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then
	test_expect_success 'processes for no attempt: refused with exit 4' '
		chmod 755 "$TRASH" && mkdir -m 777 foreign &&
		(test_expect_code 4 setpriv --reuid 4243 --regid 4243 --clear-groups prlimit --nproc=40 -- \
			kgb-agent add -m naive_cc --runs-dir foreign/runs 2>err) &&
		test_grep "no attempt can start: 40 processes and threads are allowed.*ulimit -u" err && test ! -e foreign/runs
	'
fi
test_expect_success 'settings without effect are named' '
	dry -i 5 -m naive_cc --max-usd 3 >out 2>err &&
	test_grep "run.iterations (-i) has no effect: naive_cc does not work in rounds" err &&
	test_grep "budget.run_usd (--max-usd) has no effect: naive_cc costs nothing offline" err &&
	kgb-agent add -m naive_cc -m normal_cc --dry-run >out 2>err &&
	test_grep ".-m naive_cc. has no effect: .-m normal_cc. comes after it" err && test_equal 1 "$(grep -c "has no effect" err)"
'
test_expect_success 'all offline is what the offline model can do; the others are listed' '
	kgb-agent all -m naive_cc --dry-run >out 2>err && test_equal 210 "$(grep -c "^  [a-z0-9]*::" out)" operators &&
	test_no_grep "offline model has" err &&
	mkdir data && cp -R "$KGB_TEST_SOURCE_DIR/datasets" "$KGB_TEST_SOURCE_DIR/methods" data/ && ln -s "$KGB_TEST_SOURCE_DIR/verify" data/ &&
	KGB_DATA_DIR=$TRASH/data kgb-agent all -m naive_cc --dry-run >out 2>err && test_grep "aten::softmax" out &&
	test_no_grep "aten::matmul" out &&
	test_grep "the offline model has kernels for 6 of 210 operators; set ANTHROPIC_API_KEY for the others: .*aten::matmul" err
'
test_expect_success 'a program that is not the CLI is found by its answer' '
	KGB_CLAUDE_BIN=/bin/true test_expect_code 4 kgb-agent add -m naive_cc 2>err &&
	test_grep "Claude Code cannot be ./bin/true., which answers .true (GNU coreutils)" err
'
test_start_api
# ask URL OPTION...: a run whose provider is at that address.
ask() {
	url=$1
	shift
	rm -rf asked
	ANTHROPIC_API_KEY=sk-test-0123456789 kgb-agent add -m naive_cc --skip-verify --set run.max_attempts=1 --set gateway.max_tries=1 \
		--set gateway.upstream_url="$url" --runs-dir asked "$@" >out 2>err
}
printf 'echo x >/ws/kernel.py\nresult done\n' | fake_cli
# What the provider says of the key and the model before the start, and the end of the run: it begins (0), or nothing is created (4).
while read -r status day words; do
	export status day words
	# shellcheck disable=SC2016
	test_expect_success "asked for the model, the provider answers with $day: exit $status" '
		case $day in closed) url=http://127.0.0.1:1 ;; tls) url=https${api#http} ;; *) url=$api/$day ;; esac
		test_expect_code "$status" ask "$url" &&
		if [ "$status" = 4 ]; then test_grep "$words" err && test ! -e asked; else test -e asked/*/results.json; fi &&
		test_no_grep sk-test-0123456789 err
	'
done <<\END
4 get_401       refuses the key (status 401): set ANTHROPIC_API_KEY to a key that the provider accepts
4 get_403       refuses the key (status 403)
4 get_unknown   has no model .claude-sonnet-4-5.: name a model that the provider has (--model)
4 closed        http://127.0.0.1:1: .*: the network, a proxy (https_proxy) or gateway.upstream_url
4 tls           https://127.0.0.1:.*gateway.upstream_url
4 get_silent    timed out after 100[0-9][0-9] milliseconds
0 get_200       -
0 get_403_scope -
0 get_404       -
0 get_405       -
0 get_529       -
END
test_expect_success 'doctor asks the same' '
	test_expect_code 4 env OPENAI_API_KEY=k kgb-agent doctor --set gateway.openai_url="$api/get_401" >out &&
	test_grep "^FAIL  api .*/get_401 refuses the key (status 401)" out && test_grep "fix: set OPENAI_API_KEY to a key" out &&
	{ OPENAI_API_KEY=k kgb-agent doctor --set gateway.openai_url="$api/get_404" >out || true; } && test_grep "^PASS  api " out
'
test_expect_success 'a plan, an offline run and a program of the user ask no provider' '
	ask http://127.0.0.1:1 --dry-run && ask http://127.0.0.1:1 --set gateway.mode=offline &&
	printf "#!/bin/sh\necho x >kernel.py\n" >own && chmod +x own && KGB_COMMAND_BIN=$TRASH/own ask http://127.0.0.1:1 -m command
'
test_expect_success 'a program that never asks the model is ended early, is named, and ends the run after two attempts' '
	printf "sleep 1004.$$ & wait\n" | fake_cli && rm -rf runs &&
	test_expect_code 4 kgb-agent add,mm,silu -m naive_cc --skip-verify --set limits.first_request=3s --json >out.json 2>err &&
	test_grep "no attempt can reach a model (infra.no_request: Claude Code (.$TRASH/cli.) sent the model no request in 3[0-9]* ms" err &&
	test_grep "check the program with kgb-agent doctor" err &&
	jq -e "[.operators[].status] == [\"retrying\", \"planned\", \"planned\"] and
		(.operators[\"aten::add\"].attempts | map(.end) == [\"infra.no_request\", \"infra.no_request\"])" out.json &&
	test_no_process "sleep 1004.$$"
'
test_expect_success '-vv adds where an error arose' '
	test_expect_code 2 kgb-agent add -m foo 2>err && test_no_grep "debug: at" err &&
	test_expect_code 2 kgb-agent add -m foo -vv 2>err && test_grep "debug: at .*methods/method.c:[0-9]" err
'
test_done
