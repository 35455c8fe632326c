#!/bin/sh
# SPDX-License-Identifier: MIT
test_description='budgets and prices: the real Claude Code is stopped before a request leaves, and no spent token is forgotten'
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"
test_require sandbox claude jq

bad_api=${KGB_TEST_BIN_DIR%/bin}/tests/helpers/bad_api
[ -x "$bad_api" ] || test_skip_all "no $bad_api"
export bad_api

cat >prices.yaml <<\END
checked: 2026-11-21
models:
  - {model: claude-sonnet-4-5, input: 3, output: 15, cache_write: 3.75, cache_read: 0.3}
  - {model: m-1, input: 3, output: 15, cache_write: 3.75, cache_read: 0.3}
END

# live BEHAVIOURS OPTION...: one run against an API with these behaviours; the file calls has the requests that reached it.
live() {
	behaviours=$1
	shift
	# shellcheck disable=SC2016 # for the inner shell
	ANTHROPIC_API_KEY=sk-test-0123456789 "$bad_api" "$behaviours" calls sh -c 'exec kgb-agent add -m naive_cc --skip-verify --json \
		--set "gateway.upstream_url=http://127.0.0.1:$BAD_API_PORT" --set "paths.prices=$PWD/prices.yaml" "$@"' live "$@" >out.json 2>log
}

test_expect_success 'a token budget: nothing leaves, the CLI ends after that one refusal, class budget' '
	test_expect_code 2 kgb-agent add -m naive_cc --max-tokens 30000 --runs-dir tokens 2>log && test ! -e tokens &&
	test_grep "max-tokens: budget.run_tokens: 30000 tokens hold no request of Claude Code, which takes at least 48000" log &&
	test_expect_code 5 kgb-agent add -m naive_cc --skip-verify --max-tokens 48000 --runs-dir tokens --json >out.json 2>log &&
	operator ".status == \"budget\" and .error_code == \"budget.tokens\" and .attempts[0].end == \"budget.reached\"
		and .attempts[0].model_requests == 1 and .attempts[0].charged_tokens == 0" &&
	jq -e ".status == \"budget\"" out.json &&
	jq -e ".status == 402 and .billed == false" tokens/*/attempts/aten__add/001/traffic/0001.meta.json &&
	for kind in results progress journal; do
		lines= && file=$kind.json && { [ $kind != journal ] || { lines=--lines && file=$kind.jsonl; }; } &&
		python3 "$KGB_TEST_SOURCE_DIR/tests/helpers/validate_schema.py" "$KGB_TEST_SOURCE_DIR/docs/schemas/$kind.schema.json" \
			$lines tokens/*/$file || return 1
	done
'
test_expect_success 'time of an operator: class budget, not time-out' '
	printf "#!/bin/sh\n[ \"\${1:-}\" != --version ] || { echo 0.0.0; exit 0; }\nsleep 1010.$$ & echo >/ws/started; wait\n" >cli && chmod +x cli &&
	for time in 2s 100s; do # 100 s when 2 s are over before the CLI has started
		rm -rf time
		KGB_CLAUDE_BIN=$TRASH/cli test_expect_code 5 kgb-agent add -m naive_cc --skip-verify --set budget.operator_time=$time \
			--runs-dir time --json >out.json 2>log || return 1
		[ ! -e time/*/attempts/aten__add/001/ws/started ] || break
	done &&
	test -e time/*/attempts/aten__add/001/ws/started &&
	operator ".status == \"budget\" and .error_code == \"budget.seconds\"" &&
	test_no_process "sleep 1010.$$"
'
test_expect_success 'the cost by the table of prices, for attempt, operator and run' '
	test_expect_code 1 live ok --runs-dir priced &&
	operator ".cost_usd == 0.0054 and .attempts[0].cost_usd == 0.0054" && jq -e ".summary.cost_usd == 0.0054" out.json
'
test_expect_success 'an unknown price is null, and a budget in dollars refuses the model before anything starts' '
	sed -i "/m-1/d" prices.yaml &&
	test_expect_code 1 live ok --runs-dir unpriced &&
	operator ".cost_usd == null and .tokens.gateway.total_tokens == 3150" && jq -e ".summary.cost_usd == null" out.json &&
	test_must_fail live ok --runs-dir never --max-usd 1 --model unheard-of &&
	test_grep "needs the price of model .unheard-of." log && test ! -e never
'
test_expect_success 'a budget in dollars is checked against the most that a request can cost' '
	test_expect_code 5 live ok --runs-dir dollars --max-usd 0.10 &&
	test_equal 0 "$(cat calls)" calls &&
	operator ".error_code == \"budget.usd\" and .cost_usd == 0"
'
# kgb-agent is killed while a request is open, with some 50,000 reserved tokens. The API has this request, so the next one is
# the second.
cat >scene <<\END
kgb-agent add -m naive_cc --skip-verify --set "gateway.upstream_url=http://127.0.0.1:$BAD_API_PORT" --runs-dir killed \
	--max-tokens 100000 >out 2>log &
pid=$!
for _ in $(seq 1200); do
	[ -s calls ] && break
	sleep 0.1
done
kill -9 $pid
wait $pid
code=0
kgb-agent resume --runs-dir killed --json >first.json 2>log || code=$?
echo $code >first
cp killed/*/journal.jsonl before
code=0
kgb-agent resume --runs-dir killed --max-tokens 1000000 --json >second.json 2>>log || code=$?
echo $code >second
END
test_expect_success 'after kill -9 with an open request and a resume, the reservation counts as spent' '
	rm -f calls &&
	ANTHROPIC_API_KEY=sk-test-0123456789 "$bad_api" silent,ok calls sh ./scene &&
	test_equal 5 "$(cat first)" "status of the first resume" &&
	jq -e ".operators[\"aten::add\"] | .error_code == \"budget.tokens\" and (.attempts | length) == 2
		and .attempts[0].end == \"infra.not_started\" and .attempts[0].error_code == \"infra.lost\"
		and .attempts[0].charged_tokens > 40000 and .attempts[0].cost_usd == null and .attempts[1].charged_tokens == 0" first.json
'
test_expect_success 'with a larger budget the run goes on, and no request is charged twice' '
	test_equal 1 "$(cat second)" "status of the second resume" &&
	test_equal 2 "$(cat calls)" calls &&
	jq -e ".operators[\"aten::add\"] | (.attempts | length) == 3 and .attempts[2].end == \"agent.ok\"
		and .attempts[2].charged_tokens == 3150" second.json &&
	jq -s -e "(.[0].operators[\"aten::add\"].attempts[0:2] | map(.charged_tokens)) == (.[1].operators[\"aten::add\"].attempts[0:2] | map(.charged_tokens))" \
		first.json second.json
'
test_expect_success 'a run that is at its end has nothing to resume' '
	test_expect_code 1 kgb-agent resume --runs-dir killed 2>err && test_grep "is complete already" err
'
if [ -n "${KGB_PYTHON:-}" ] || [ -x "$KGB_TEST_SOURCE_DIR/.deps/venv/bin/python" ]; then
	test_expect_success 'verdicts warn the agent that the budget runs low' '
		test_expect_code 0 kgb-agent add -m normal_cc --skip-verify --max-tokens 200000 --set budget.warn_at=1 --runs-dir soft >out 2>log &&
		grep -h "of the run.s budget is used; finish soon" soft/*/attempts/aten__add/001/traffic/*.request.json >seen &&
		grep -l "x-kgb-budget" soft/*/attempts/aten__add/001/traffic/*.meta.json >headers &&
		test -s seen && test -s headers
	'
fi
test_done
