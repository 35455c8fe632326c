#!/bin/sh
# SPDX-License-Identifier: MIT
test_description='methods that work in rounds: the best verified version stays, whatever happens in a round'
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/integration/fake_cli.sh
. "$KGB_TEST_SOURCE_DIR/tests/integration/fake_cli.sh"
test_require sandbox torch claude jq git

honest=$KGB_TEST_SOURCE_DIR/tests/honest/aten__silu/flat.py
claude=$(test_cli_path claude)
export honest claude

# The last attempt and the operator in out.json, and the attempt's folder.
silu() { jq -e ".operators[\"aten::silu\"].attempts[-1] | $1" out.json; }
folder() { echo "$1"/*_KernelGenBench_*/attempts/aten__silu/001; }
# Edits the file of method $1 with the sed script $2, as method $3 of a copy of the data.
change_method() {
	[ -d data ] || { mkdir data && cp -R "$KGB_TEST_SOURCE_DIR/datasets" "$KGB_TEST_SOURCE_DIR/methods" data/ && ln -s "$KGB_TEST_SOURCE_DIR/verify" data/; }
	cp -R "data/methods/data/$1" "data/methods/data/$3" && sed -i "s/^name: .*/name: $3/; $2" "data/methods/data/$3/method.yaml"
}
cat >ask.py <<\END
import json, os, urllib.request
body = {"model": "m", "max_tokens": 100, "messages": [{"role": "user", "content": "hi"}]}
request = urllib.request.Request(os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages", json.dumps(body).encode(),
	{"content-type": "application/json", "x-api-key": os.environ["ANTHROPIC_API_KEY"]})
urllib.request.urlopen(request).read()
END
# A CLI that counts its rounds: the script on stdin, one case for each. `good` writes the honest kernel, `ask` makes a request.
rounds_cli() {
	{
		printf 'round=$(sed -n "s/^## Round \\([0-9]*\\) .*/\\1/p" TASK.md)\ngood() {\ncat >kernel.py <<\\KERNEL\n'
		cat "$honest"
		printf 'KERNEL\n}\nask() {\npython3 - <<\\ASK\n'
		cat ask.py
		printf 'ASK\n}\n'
		cat
	} | fake_cli
}
# with_cli ARGS...: runs kgb-agent with that CLI.
with_cli() { env KGB_DATA_DIR="$TRASH/data" KGB_CLAUDE_BIN="$TRASH/cli" kgb-agent "$@"; }
# is_broken ATTEMPT: whether the agent of that attempt of the run below `slow` has spoilt its kernel.
is_broken() { grep -qx broken slow/*/attempts/aten__silu/"$1"/ws/kernel.py 2>/dev/null; }
nothing_left() { test_no_process "sleep 600.$$" 2>/dev/null && test_no_process "$TRASH/slow" 2>/dev/null; }
# The files of the first attempt below `slow`.
evidence() { (cd slow/*/attempts/aten__silu/001 && find . -type f -exec sha256sum {} + | sort); }
# valid SCHEMA [--lines] FILE
valid() {
	schema=$KGB_TEST_SOURCE_DIR/docs/schemas/$1.schema.json
	shift
	python3 "$KGB_TEST_SOURCE_DIR/tests/helpers/validate_schema.py" "$schema" "$@"
}

# ---- the real CLI with the offline model, whose second round spoils the kernel ----

test_expect_success 'autokernel: from a stub, round 1 passes, round 2 breaks it, the result is that of round 1' '
	test_expect_code 0 kgb-agent silu -m autokernel -i 2 --json --runs-dir auto >out.json 2>log || { cat log; false; }
	jq -e ".operators[\"aten::silu\"].status == \"passed\"" out.json
	silu ".kernel_source == \"verified\" and .best_round == 1 and .stopped_by == \"iterations\" and
		(.rounds | map([.number, .status, .kept]) == [[1, \"passed\", true], [2, \"failed\", false]])"
	cmp "$(echo auto/*/kernels)/aten__silu.py" "$(folder auto)/verdicts/002.py"
	cmp "$(folder auto)/ws/kernel.py" "$(folder auto)/verdicts/002.py"
	grep -q "^    raise NotImplementedError" "$(folder auto)"/verdicts/*.py && return 1
	test_grep "kernel.py. is a stub" "$(folder auto)/rounds/001/prompt.md"
'
test_expect_success 'tokens of all rounds: the same in both meters, and their sum' '
	silu ".tokens.agree and (.rounds | all(.tokens.agree)) and .tokens.gateway.output_tokens > 0 and
		.tokens.gateway.total_tokens == (.rounds | map(.tokens.gateway.total_tokens) | add) and
		.charged_tokens == .tokens.gateway.total_tokens"
	silu "(.rounds | map(.session_id) | unique | length == 2) and .turns > 5"
'
test_expect_success 'the second round gets the result of the first, and the history has both, with verdicts and names' '
	prompt=$(folder auto)/rounds/002/prompt.md
	test_grep "^## Round 2 of at most 2" "$prompt"
	test_grep "holds the best version so far: that of round 1" "$prompt"
	test_grep "^| 1 | passed | yes | The verifier accepts" "$prompt"
	test_grep "^| 2 | failed verify.mismatch | no | Tried" "$(folder auto)/ITERATIONS.md"
	cmp "$(folder auto)/ITERATIONS.md" "$(folder auto)/ws/ITERATIONS.md"
	git --git-dir="$(folder auto)/git" log --reverse --notes=kgb --format="%s|%N" >history
	test_grep "^\[iter 1\] The verifier accepts.*|.*\"status\":\"passed\"" history
	test_grep "^\[iter 2\] Tried .*|.*verify\.mismatch" history
	test_equal "[iter 2] back to the version of round 1|" "$(grep . history | tail -n 1)" "last commit"
	git --git-dir="$(folder auto)/git" show best:kernel.py | cmp - "$(folder auto)/ws/kernel.py"
	test_equal "$(printf "best\niter-1\niter-2")" "$(git --git-dir="$(folder auto)/git" tag)" tags
'
test_expect_success 'journal, progress and results are valid, and rebuilt byte for byte' '
	valid results out.json && valid journal --lines "$(echo auto/*/journal.jsonl)" &&
	valid progress "$(echo auto/*/progress.json)" &&
	jq -e ".operators[\"aten::silu\"].rounds | .done == 2 and .kept == 1 and .best_round == 1" auto/*/progress.json &&
	cp auto/*/results.json before && kgb-agent rebuild --runs-dir auto && cmp before auto/*/results.json
'
test_expect_success 'its replay is identical, without a judge' '
	test_expect_code 0 env KGB_PYTHON=/nonexistent kgb-agent replay --runs-dir auto >table 2>log || { cat log; false; }
	test_grep "^aten::silu  *identical: kernel same, 2 of 2 checks same" table
'
test_expect_success 'ako4all: rounds with notes; hints only where they hold' '
	test_expect_code 0 kgb-agent silu -m ako4all -i 1 --skip-verify --json --runs-dir ako >out.json 2>log || { cat log; false; }
	silu ".end == \"agent.ok\" and .kernel_source == \"verified\" and .best_round == 1 and .tokens.agree"
	test_grep "There is no .kernel.py. yet" "$(folder ako)/rounds/001/prompt.md"
	test_no_grep "Hints for an NVIDIA GPU" "$(folder ako)/rounds/001/prompt.md"
'
test_expect_success 'cuda_optimized_skill goes on from that run; only a better kernel replaces the first' '
	test_expect_code 0 kgb-agent -m cuda_optimized_skill -i 1 --from-run "$(echo ako/*)" --skip-verify --json --runs-dir cos >out.json 2>log || { cat log; false; }
	silu ".kernel_source == \"start\" and .best_round == 0 and .tokens.agree and
		(.rounds | map([.number, .status, .kept]) == [[0, \"passed\", true], [1, \"passed\", false]])"
	jq -e ".from_run | startswith(\"ako4all_\")" out.json && valid results out.json
	cmp ako/*/kernels/aten__silu.py cos/*/kernels/aten__silu.py && cmp ako/*/kernels/aten__silu.py cos/*/start/aten__silu.py
	test_grep "holds the best version so far: the kernel to begin with" "$(folder cos)/rounds/001/prompt.md"
	test_grep "^- aten::silu (.*): did not help: " cos/*/memory.md
'
test_expect_success 'a run that cannot begin is refused with the remedy, and nothing is created' '
	test_expect_code 2 kgb-agent silu -m cuda_optimized_skill --runs-dir none 2>err && test_grep "with --from-run NAME" err &&
	test_expect_code 2 kgb-agent silu -m normal_cc --from-run "$(echo ako/*)" --runs-dir none 2>err && test_grep "for methods that work in rounds" err &&
	test_expect_code 2 kgb-agent add -m autokernel --from-run "$(echo ako/*)" --runs-dir none 2>err && test_grep "no kernel for aten::add" err &&
	test_expect_code 2 kgb-agent silu -m autokernel --from-run nothing --runs-dir ako 2>err && test_grep "nothing" err &&
	test ! -e none
'

# ---- misbehaviour, by a program that stands in for the CLI ----

# Runs beside the next cases, because it waits: round 2 would take an hour.
rounds_cli <<\END
[ "$round" = 1 ] || sleep 3600
result done
END
mv cli waiting
change_method ako4all "s/iterations: .*/iterations: 9/" waits
# waiting LIMIT
waiting() {
	env KGB_DATA_DIR="$TRASH/data" KGB_CLAUDE_BIN="$TRASH/waiting" kgb-agent silu --skip-verify -m waits --timeout "$1" --json \
		--runs-dir "time-$1" >time.json 2>time.log
}
waiting 30s &
waits=$!

test_expect_success 'a stub that is left untouched is no result' '
	change_method autokernel "s/iterations: .*/iterations: 2/" stub &&
	rounds_cli <<-\END &&
	result nothing
	END
	test_expect_code 1 with_cli silu --skip-verify -m stub --json --runs-dir stub >out.json 2>log || { cat log; false; }
	silu ".error_code == \"agent.no_kernel\" and .kernel_source == null and (.error | contains(\"as it was at the beginning\")) and
		(.rounds | map(.code) == [\"agent.no_kernel\", \"agent.no_kernel\"])"
	test ! -e stub/*/kernels/aten__silu.py
'
test_expect_success 'patience ends it; bytes that were judged are not judged again' '
	change_method ako4all "s/iterations: .*/iterations: 9\n  patience: 3/" patient &&
	rounds_cli <<-\END &&
	echo "import os" >kernel.py
	result "changed $round"
	END
	test_expect_code 0 with_cli silu --skip-verify -m patient --json --runs-dir patience >out.json 2>log || { cat log; false; }
	silu ".stopped_by == \"patience\" and (.rounds | map(.summary) == [\"changed 1\", \"changed 2\", \"changed 3\"]) and
		(.rounds | all(.kept == false and .status != \"passed\" and .check == 1)) and .kernel_source == \"file\""
	test ! -e "$(folder patience)/verdicts/002.py"
	test_grep "No version has passed yet; .kernel.py. holds the last one. The judge.s report on it:" "$(folder patience)/rounds/002/prompt.md"
	test_no_grep aten::silu "$(folder patience)/rounds/002/stderr.log"
'
test_expect_success 'the kernel to begin with is no result when no agent has worked on it' '
	rounds_cli <<-\END &&
	exit 3
	END
	test_expect_code 1 with_cli -m patient --from-run "$(echo ako/*)" --skip-verify --json --runs-dir idle >out.json 2>log || { cat log; false; }
	silu ".error_code == \"agent.crashed\" and .kernel_source == null and
		(.rounds | map([.status, .end]) == [[\"passed\", null], [\"passed\", \"agent.crashed\"]])"
	test ! -e idle/*/kernels/aten__silu.py
'
test_expect_success 'a kernel to begin with that does not pass is kept for repair' '
	rounds_cli <<-\END &&
	good
	result mended
	END
	test_expect_code 0 with_cli -m patient -i 1 --from-run "$(echo patience/*)" --skip-verify --json --runs-dir mended >out.json 2>log || { cat log; false; }
	silu ".kernel_source == \"verified\" and (.rounds | map([.status, .kept]) == [[\"refused\", false], [\"passed\", true]])"
	test_grep "No version has passed yet; .kernel.py. holds the last one. The judge.s report on it:" "$(folder mended)/rounds/001/prompt.md"
	test_grep "^REFUSED" "$(folder mended)/rounds/001/prompt.md"
	cmp "$honest" mended/*/kernels/aten__silu.py
'
test_expect_success 'a version that was checked and then spoilt, folders and links in the place of files: nothing is lost, and homes are fresh' '
	change_method ako4all "s/iterations: .*/iterations: 3/" rude &&
	rounds_cli <<-\END &&
	[ ! -e ~/mine ] || exit 9
	echo x >~/mine
	case $round in
	1) good; cp kernel.py good.py; kgb-verify >checked; echo broken >kernel.py ;;
	2) cmp kernel.py good.py || exit 8
	   rm -f kernel.py ITERATIONS.md TASK.md; mkdir kernel.py; ln -s /etc/passwd ITERATIONS.md; ln -s "$HOME/mine" TASK.md; chmod 0 . ;;
	3) cmp kernel.py good.py && [ ! -L ITERATIONS.md ] && grep -q "^| 2 |" ITERATIONS.md || exit 7
	   rm kernel.py; ln -s good.py kernel.py ;;
	esac
	result "round $round | with a \`pipe\`"
	END
	test_expect_code 0 with_cli silu --skip-verify -m rude --json --runs-dir rude >out.json 2>log || { cat log; false; }
	silu ".end == \"agent.ok\" and .best_round == 1 and (.rounds | map(.code) == [null, \"agent.kernel_not_regular\", \"agent.kernel_symlink\"])"
	cmp "$honest" rude/*/kernels/aten__silu.py
	test_grep "^| 3 | nothing was judged: agent.kernel_symlink | no | round 3 / with a .pipe |$" "$(folder rude)/ITERATIONS.md"
'
test_expect_success 'kill -9 in round 2: no process is left, and the record has round 1 with its tokens' '
	change_method ako4all "s/iterations: .*/iterations: 2/" slow &&
	rounds_cli <<-END &&
	ask
	case \$round in
	1) good ;;
	2) echo broken >kernel.py; sleep 600.$$ ;;
	esac
	result "round \$round"
	END
	env KGB_DATA_DIR="$TRASH/data" KGB_CLAUDE_BIN="$TRASH/cli" kgb-agent silu --skip-verify -m slow --runs-dir slow >out 2>log &
	agent=$!
	test_wait_for 300 is_broken 001
	kill -KILL "$agent"
	wait "$agent" || true
	test_wait_for 60 nothing_left
	kgb-agent rebuild --runs-dir slow
	cp slow/*/results.json killed.json
	jq -e ".operators[\"aten::silu\"].attempts[0] | .best_round == 1 and .charged_tokens > .rounds[0].tokens.gateway.total_tokens and
		(.rounds | map([.status, .tokens.gateway.output_tokens > 0]) == [[\"passed\", true]])" killed.json
	evidence >evidence
'
test_expect_success 'a resume begins a new attempt; an interrupt in its round 2 keeps the version of round 1' '
	env KGB_DATA_DIR="$TRASH/data" KGB_CLAUDE_BIN="$TRASH/cli" kgb-agent resume --runs-dir slow >out 2>log &
	agent=$!
	test_wait_for 300 is_broken 002
	kill -INT "$agent"
	code=0
	wait "$agent" || code=$?
	test_equal 130 "$code" "exit status"
	jq -e ".operators[\"aten::silu\"] | .status == \"cancelled\" and .attempts[1].best_round == 1 and
		(.attempts[1].rounds | map([.status, .code]) == [[\"passed\", null], [null, \"agent.cancelled\"]])" slow/*/results.json
	cmp "$honest" slow/*/kernels/aten__silu.py
'
test_expect_success 'the next one goes through; nothing of the killed one is lost, and nothing is charged twice' '
	sed -i "s/sleep 600.$$/true/" cli
	test_expect_code 0 with_cli resume --runs-dir slow --json >out.json 2>log || { cat log; false; }
	silu ".number == 3 and .best_round == 1 and (.rounds | length == 2) and .model_requests == 2"
	jq -s -e "map(.operators[\"aten::silu\"].attempts[0] | [.charged_tokens, .rounds]) | .[0] == .[1]" killed.json out.json
	jq -e ".operators[\"aten::silu\"].attempts | .[0].error_code == \"infra.lost\" and (.[2] | .charged_tokens == .tokens.gateway.total_tokens)" out.json
	evidence | cmp evidence -
'
test_expect_success 'killed while round 1 is judged: its request is counted' '
	env KGB_DATA_DIR="$TRASH/data" KGB_CLAUDE_BIN="$TRASH/cli" kgb-agent silu --skip-verify -m slow --runs-dir judged >out 2>log &
	agent=$!
	test_wait_for 300 sh -c "test -e judged/*/attempts/aten__silu/001/verdicts/001.py"
	kill -KILL "$agent"
	wait "$agent" || true
	test_wait_for 60 test_no_process "$TRASH/judged" 2>/dev/null
	kgb-agent rebuild --runs-dir judged
	jq -e ".operators[\"aten::silu\"].attempts[0] | .model_requests >= 1 and .tokens.gateway.output_tokens > 0" judged/*/results.json
'
test_expect_success 'all rounds share the budget: no round begins when it is used up' '
	rounds_cli <<-\END &&
	ask || true
	result done
	END
	change_method patient "s/patience: .*/patience: 9/" spender && sed -i "/^least_tokens/d" data/methods/data/program/claude.yaml &&
	test_expect_code 1 with_cli silu --skip-verify -m spender --set budget.attempt_tokens=1200 --json --runs-dir spent >out.json 2>log || { cat log; false; }
	silu ".charged_tokens > 0 and .charged_tokens <= 1200 and .stopped_by == null and (.rounds | length > 1 and length < 9)"
'
wait "$waits" || true
test_expect_success 'the time is that of all rounds together' '
	# When the machine is too slow for round 1 to end in 30 s, the limit is longer.
	jq -e ".operators[\"aten::silu\"].attempts[-1].rounds[0].end == \"agent.ok\"" time.json || waiting 400s || true
	cp time.json out.json && cat time.log
	silu ".end == \"agent.timeout\" and .error_code == \"agent.timeout\" and
		(.rounds | map([.end, .code]) == [[\"agent.ok\", \"agent.no_kernel\"], [\"agent.timeout\", \"agent.timeout\"]])"
'
test_expect_success 'a loop that is wrong is named by file, line and key' '
	change_method autokernel "s/patience: .*/patienc: 1/" wrong && test_expect_code 2 with_cli silu -m wrong 2>err && test_grep "method.yaml:[0-9]*:[0-9]*: .*patienc" err &&
	change_method autokernel "s/prompt: round.md/prompt: none.md/" wrong2 && test_expect_code 2 with_cli silu -m wrong2 2>err && test_grep "method.yaml:[0-9]*:[0-9]*: loop.prompt: there is no file" err &&
	change_method ako4all "s/    cuda: /    abacus: /" wrong3 && test_expect_code 2 with_cli silu -m wrong3 2>err && test_grep "loop.hints.abacus: .abacus. is no platform" err
'
test_done
