#!/bin/sh
# SPDX-License-Identifier: MIT
test_description='bad days of the provider, with the real Claude Code in its sandbox: each ends in its class, quickly, and no answer is lost or billed twice'
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"
test_require sandbox claude jq

bad_api=${KGB_TEST_BIN_DIR%/bin}/tests/helpers/bad_api
[ -x "$bad_api" ] || test_skip_all "no $bad_api"
export bad_api

# play NAME BEHAVIOURS URL [OPTION...]: one attempt against that API, into the folder NAME. URL may use $BAD_API_PORT.
play() {
	name=$1 behaviours=$2 url=$3
	shift 3
	code=0
	mkdir "$name"
	# shellcheck disable=SC2016 # for the inner shell
	ANTHROPIC_API_KEY=sk-test-0123456789 "$bad_api" "$behaviours" "$name/calls" \
		sh -c 'url=$(eval "echo $0") && exec kgb-agent add -m naive_cc --skip-verify --set "gateway.upstream_url=$url" \
			--set run.max_attempts=1 --set gateway.max_tries=2 --set gateway.max_wait=60s --json "$@"' \
		"$url" --runs-dir "$name/runs" "$@" >"$name/out.json" 2>"$name/log" || code=$?
	echo "$code" >"$name/status"
}

# The outcome: class, requests of the CLI, calls upstream, repeated calls, counted output tokens.
outcome() {
	jq -r '.operators["aten::add"].attempts | (length | tostring) + " " + (.[-1] | .end + " " + (.model_requests | tostring)
		+ " " + (.model_retries | tostring) + " " + (.tokens.gateway.output_tokens | tostring))' "$1/out.json"
}

# The agent does not notice short faults; it gets each other fault once, unchanged. An answer that has begun is billed, and the
# gateway never asks for it again; when the CLI does, that counts as another request.
#  behaviours      class                  requests  calls  repeated  output
cat >table <<\END
429_soon,ok        agent.ok                      1      2         1      50
refuse,ok          agent.ok                      1      2         1      50
silent,ok          agent.ok                      1      2         1      50
401                provider.auth                 1      1         0       0
402                provider.credit               1      1         0       0
404                provider.unknown_model        2      2         0       0
529                provider.transient            1      2         1       0
cut,ok             agent.ok                      2      2         0      50
stall,ok           agent.ok                      2      2         0      50
malformed,json     agent.ok                      2      2         0      20
error_event,ok     agent.ok                      2      2         0      50
END

# Four at a time, because they mostly wait.
play_all() {
	running=0
	while read -r behaviours _; do
		# On days without a planned delay the limits are long, because a busy machine may be late.
		idle=60s
		case $behaviours in *silent* | *stall*) idle=4s ;; esac
		# shellcheck disable=SC2016 # for play
		play "$(echo "$behaviours" | tr , -)" "$behaviours" 'http://127.0.0.1:$BAD_API_PORT' --set gateway.idle_timeout="$idle" &
		running=$((running + 1))
		[ $((running % 4)) -ne 0 ] || wait
	done <table
	wait
}
test_expect_success 'all days are played' '
	play_all && test_equal "$(wc -l <table)" "$(ls -d ./*/status | wc -l)" days
'
while read -r behaviours class requests calls repeated output; do
	export behaviours class requests calls repeated output
	# shellcheck disable=SC2016
	test_expect_success "$behaviours: $class" '
		day=$(echo "$behaviours" | tr , -) &&
		test_equal "1 $class $requests $repeated $output" "$(outcome "$day")" outcome &&
		test_equal "$calls" "$(cat "$day/calls")" calls &&
		{ [ "$class" = agent.ok ] || test_equal 4 "$(cat "$day/status")" "exit status"; }
	'
done <table

test_expect_success 'every exchange of every day is recorded, with the calls that failed before' '
	jq -e ".tries == [\"status 429\"] and .status == 200 and .billed" 429_soon-ok/runs/*/attempts/*/001/traffic/0001.meta.json &&
	jq -e ".cut_upstream and .billed and .tries == []" cut-ok/runs/*/attempts/*/001/traffic/0001.meta.json &&
	jq -s -e "map(.billed) == [true, true]" stall-ok/runs/*/attempts/*/001/traffic/*.meta.json
'
# shellcheck disable=SC2016 # for the inner shell
test_expect_success 'a key that is refused ends the run after its first operator; the others stay pending and can be resumed' '
	code=0 && { ANTHROPIC_API_KEY=sk-test-0123456789 "$bad_api" 401 keys sh -c '\''exec kgb-agent add,silu,softmax -m naive_cc --skip-verify \
		--set "gateway.upstream_url=http://127.0.0.1:$BAD_API_PORT" --runs-dir halted'\'' >table 2>log || code=$?; } &&
	test_equal 4 "$code" "exit status" &&
	test_grep "no more attempts begin: no attempt can reach a model (provider.auth: .*): give a key that the provider accepts" log &&
	test_grep "when that is mended, continue with: kgb-agent resume" log &&
	jq -e "(.status == \"failed\") and ([.operators[] | .status] == [\"infra_error\", \"planned\", \"planned\"])
		and (.operators[\"aten::silu\"].attempts == []) and .summary.pass_rate == null" halted/*/results.json &&
	tail -n 1 halted/*/journal.jsonl | jq -e ".type == \"run_finished\" and .data.exit_code == 4" &&
	code=0 && { kgb-agent resume --runs-dir halted --force --json >out.json 2>log2 || code=$?; } &&
	jq -e "[.operators[] | .status] == [\"generated\", \"generated\", \"generated\"]" out.json
'

# ---- days on which the CLI itself is at fault ----

# shellcheck source=tests/integration/fake_cli.sh
. "$KGB_TEST_SOURCE_DIR/tests/integration/fake_cli.sh"

test_expect_success 'a CLI cannot upgrade itself, and the next attempt finds the old one' '
	{
		# shellcheck disable=SC2016 # for the CLI
		echo "for file in \"\$0\" /opt/kgb/cli/* /opt/kgb/bin/*; do echo worse >\"\$file\"; mv \"\$file\" \"\$file.old\"; done 2>>/ws/why"
		echo "mkdir -p \$HOME/.local/bin && cp \$0 \$HOME/.local/bin/claude && result done"
	} | fake_cli &&
	cp cli before && KGB_CLAUDE_BIN=$TRASH/cli test_expect_code 1 kgb-agent add -m naive_cc --skip-verify --runs-dir upgraded --json >out.json 2>log &&
	attempt ".end == \"agent.ok\"" && test_cmp before cli &&
	test_grep -i "read-only\|permission denied\|busy" upgraded/*/attempts/aten__add/001/ws/why &&
	KGB_CLAUDE_BIN=$TRASH/cli test_expect_code 1 kgb-agent add -m naive_cc --skip-verify --runs-dir upgraded2 --json >out.json 2>log &&
	attempt ".end == \"agent.ok\""
'
both_are_here() {
	set -- homes/*/attempts/*/001/ws/here
	[ $# -eq 2 ]
}
test_expect_success 'two attempts at once, each with a separate HOME' '
	{
		echo "mkdir \$HOME/mine || exit 9; echo >/ws/here; n=0"
		echo "until [ -e /ws/both ] || [ \$n -gt 1200 ]; do sleep 0.1; n=\$((n + 1)); done"
		echo "rmdir \$HOME/mine && result done"
	} | fake_cli &&
	{ KGB_CLAUDE_BIN=$TRASH/cli kgb-agent add,sum -m naive_cc --skip-verify --device-count 2 --runs-dir homes --json >out.json 2>log & } && pid=$! &&
	test_wait_for 100 both_are_here && for folder in homes/*/attempts/*/001/ws; do touch "$folder/both" || return 1; done &&
	test_expect_code 1 wait $pid &&
	for operator in add sum; do
		jq -e ".operators[\"aten::$operator\"].attempts[0].end == \"agent.ok\"" out.json || return 1
	done
'
test_done
