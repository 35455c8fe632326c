#!/bin/sh
# SPDX-License-Identifier: MIT
test_description='kgb-judge: arguments, verdicts, and candidates that misbehave'
. "$(dirname "$0")/lib.sh"

fixtures=$KGB_TEST_SOURCE_DIR/tests/fixtures/judge/aten
process=$KGB_TEST_SOURCE_DIR/tests/redteam/process
printf 'x = 1\n' >kernel.py

# ---- arguments: nothing is started ----

# usage PATTERN KEY=VALUE...: the request is a usage error whose message has the pattern.
usage() {
	usage_pattern=$1
	shift
	judge_request "$@" | test_expect_code 2 kgb-judge verify 2>err >out && test_grep "$usage_pattern" err && test ! -s out
}

test_expect_success 'wrong requests are usage errors that name the key' '
	test_expect_code 2 kgb-judge 2>err && test_grep "usage:" err && test_grep "call_timeout" err &&
	test_expect_code 2 kgb-judge verify </dev/null 2>err && test_grep "no request on stdin" err &&
	test_expect_code 2 kgb-judge verify --op add 2>err && test_grep "unexpected argument .--op." err &&
	echo "{\"spec\": " | test_expect_code 2 kgb-judge verify 2>err && test_grep "request:[12]:" err &&
	usage "missing key .kernel." spec=add.yaml &&
	usage "missing key .spec." kernel=kernel.py &&
	set -- kernel=kernel.py "spec=$fixtures/aten__add.yaml" &&
	usage "purpose.*agent" "$@" purpose=test &&
	usage "timeout.*unit" "$@" timeout=3 &&
	usage "timeout" "$@" timeout=1ms &&
	usage "baseline .cublas.: torch, compile or a kernel file" "$@" baseline=cublas &&
	usage "max_failures" "$@" max_failures=0 &&
	usage "seed" "$@" seed=12 &&
	usage "kernal.*did you mean .kernel." "$@" kernal=x &&
	test_expect_code 2 kgb-judge zygotes 2>err && test_grep "\-\-dir" err &&
	test_expect_code 0 kgb-judge --version >out && test_grep "^kgb-judge [0-9]" out
'

test_expect_success 'a missing interpreter is an environment error with the remedy' '
	judge_request kernel=kernel.py "spec=$fixtures/aten__add.yaml" >request &&
	test_expect_code 4 env KGB_PYTHON=/nonexistent/python kgb-judge verify <request >out 2>err &&
	test_grep "/nonexistent/python" err && test_grep "kgb-agent setup" err && test ! -s out
'

for feature in sandbox torch jq; do
	if ! reason=$(test_have $feature); then
		case ,$KGB_TESTS_MUST_RUN, in
		*,"$feature",* | *,all,*) test_expect_success "$feature is here" 'false' ;;
		*) test_skip 'kernels are judged' "$reason" ;;
		esac
		test_done
	fi
done

test_expect_success 'a specification that is not there is a usage error' '
	usage "softmx.yaml" kernel=kernel.py spec=softmx.yaml
'

test_expect_success 'an interpreter without torch is an environment error with the remedy' '
	judge_request "kernel=$process/honest.py" "spec=$fixtures/aten__add.yaml" >request &&
	test_expect_code 4 env KGB_PYTHON="$(command -v python3)" kgb-judge verify <request >out 2>err &&
	test_grep "torch" err && test_grep "kgb-agent setup" err && test ! -s out
'

# ---- a verdict ----

# The static stage refuses the candidates of tests/redteam/process. To get them past it, the judge has a data directory whose
# policy allows every name; all else is unchanged.
mkdir data
cp -R "$KGB_TEST_SOURCE_DIR/verify" data/verify
cat >data/verify/policy/l1.yaml <<'EOF'
schema: kgb.l1/2
limits: {match: 100000, depth: 250, heap_kib: 512}
rules:
  - code: ok.everything
    kind: [import, name, builtin, dunder, attribute, dynamic, operator, tensor_store, class, def, launch, jit_attr,
           jit_call, kernel_call, kernel_syntax]
    context: [host, kernel, annotation]
    reason: Tests of what comes after the static stage need candidates that it would refuse.
EOF
KGB_DATA_DIR=$TRASH/data
export KGB_DATA_DIR

# judge KERNEL [KEY=VALUE...]: writes the verdict to verdict.json, for the operator that the kernel's first line names.
judge() {
	judge_kernel=$1
	shift
	judge_op=$(sed -n '1s/^# operator: \(.*\)::\(.*\)$/\1__\2/p' "$judge_kernel")
	case $(sed -n "s/^# expect: //p" "$judge_kernel") in # only kernels that hang have a short limit: a machine may be busy
	*timeout*) judge_limit=3s ;;
	*) judge_limit=30s ;;
	esac
	for judge_pair; do # JSON has each key once
		case $judge_pair in call_timeout=*) judge_limit= ;; esac
	done
	judge_request "spec=$fixtures/$judge_op.yaml" "kernel=$judge_kernel" ${judge_limit:+"call_timeout=$judge_limit"} memory=512MiB \
		"$@" | kgb-judge verify >verdict.json
}

test_expect_success 'cold: one complete verdict' '
	judge "$process/honest.py" &&
	test_equal 1 "$(wc -l <verdict.json | tr -d " ")" lines &&
	jq -e ".status == \"passed\" and .code == null and .mode == \"final\" and .passed_tests == .total_tests and
		([.stages[] | .name + \"=\" + .status] == [\"contract=passed\", \"l1=passed\", \"correctness=passed\",
		\"l2=passed\", \"l3=passed\", \"timing=skipped\"]) and .launches.add_kernel == 4 and
		(.timing.comparable | not) and (.timing.cases | length == 0) and
		(.ghost.cases | length > 0 and all(.broken)) and .isolation.level == \"L3\"" verdict.json
'

# Warm processes for all further cases; their stdin stays open as long as this file runs. There are no spare workers, so any
# process beside the zygotes was left behind.
mkfifo hold
kgb-judge zygotes --dir zygotes --spares 0 <hold >ready 2>zygotes.log &
zygotes_pid=$!
exec 9>hold
test_wait_for 120 grep -q ready ready || cat zygotes.log

test_below "$zygotes_pid" >idle

# The parts of a verdict that must be the same with any number of lanes.
same='[.status, .code, .stage, .total_tests, .passed_tests, .failed_tests, .interfaces, .launches, .deterministic,
	([.failures[].case] | sort)]'
export same

test_expect_success 'the verdict is the same with any number of lanes' '
	for candidate in honest unwritten_tail no_launch nondeterministic hang; do
		for lanes in 1 4; do
			judge "$process/$candidate.py" zygotes=zygotes seed=00112233445566778899aabbccddeeff lanes=$lanes &&
			test_equal $lanes "$(jq .lanes verdict.json)" lanes &&
			jq -c "$same" verdict.json >"$candidate.$lanes" || return 1
		done
	done &&
	for candidate in honest unwritten_tail nondeterministic; do
		cmp $candidate.1 $candidate.4 || return 1
	done &&
	for candidate in no_launch hang; do
		test_equal "$(jq -r ".[0], .[1]" $candidate.1)" "$(jq -r ".[0], .[1]" $candidate.4)" $candidate || return 1
	done
'

test_expect_success 'the seed decides which cases are called without asserts' '
	for lanes in 1 4; do
		judge_request "spec=$KGB_TEST_SOURCE_DIR/datasets/kernelgenbench/aten/aten__floor.yaml" \
			"kernel=$KGB_TEST_SOURCE_DIR/tests/redteam/aten__floor/launched_in_an_assert.py" zygotes=zygotes \
			seed=00112233445566778899aabbccddeeff lanes=$lanes max_failures=1000 | kgb-judge verify >verdict.json &&
			jq -e ".passed_tests > 0 and .failed_tests > 0 and
				all(.failures[]; .code == \"verify.mismatch\" and (.inputs | test(\"without asserts\")))" verdict.json &&
			jq -c "$same" verdict.json >"asserts.$lanes" || return 1
	done &&
	test_cmp asserts.1 asserts.4
'

test_expect_success 'as many failed cases as are asked for end it' '
	judge "$process/unwritten_tail.py" zygotes=zygotes lanes=1 max_failures=2 &&
	jq -e ".code == \"verify.mismatch\" and .failed_tests == 2 and .not_run_tests > 0" verdict.json
'

test_expect_success 'a kernel that does not end is tried in one case only' '
	judge "$process/hang_in_kernel.py" zygotes=zygotes lanes=1 &&
	jq -e ".code == \"verify.timeout\" and .failed_tests == 1 and .not_run_tests > 0" verdict.json
'

test_expect_success 'compiling does not count as time of a call' '
	sed -e "s/alpha, BLOCK: tl/alpha, STEPS: tl.constexpr, BLOCK: tl/" \
		-e "s/^    m = i < n/&\n    for step in tl.static_range(STEPS):\n        tl.static_assert(step < STEPS)/" \
		-e "s/out.numel(), alpha,\$/&\n                     STEPS=140000 if out.numel() == 1000 else 0,/" \
		"$process/honest.py" >unrolled.py &&
	judge unrolled.py zygotes=zygotes lanes=1 cache=false call_timeout=1500ms &&
	jq -e ".status == \"passed\" and .phases_ms.first_call > 1500" verdict.json
'

test_expect_success 'warm: a check that an agent asked for' '
	judge "$process/honest.py" zygotes=zygotes purpose=agent &&
	jq -e ".status == \"passed\" and .mode == \"agent\"" verdict.json
'

test_expect_success 'each verification draws its own seed; a given seed repeats the inputs' '
	judge "$process/nan.py" zygotes=zygotes && cp verdict.json one.json &&
	judge "$process/nan.py" zygotes=zygotes && cp verdict.json two.json &&
	judge "$process/nan.py" zygotes=zygotes "seed=$(jq -r .seed one.json)" && cp verdict.json three.json &&
	test_equal false "$(jq -n --slurpfile a one.json --slurpfile b two.json "\$a[0].seed == \$b[0].seed")" seeds &&
	jq .failures one.json >1 && jq .failures two.json >2 && jq .failures three.json >3 &&
	test_cmp 1 3 && ! cmp -s 1 2
'

test_expect_success 'answers of the reference for a given seed are kept, and change no verdict' '
	kept=$HOME/.cache/kgb-agent/truths seed=a0112233445566778899aabbccddeeff &&
	judge "$process/nan.py" zygotes=zygotes seed=$seed && cp verdict.json asked.json &&
	judge "$process/nan.py" zygotes=zygotes seed=$seed && cp verdict.json recalled.json &&
	judge "$process/nan.py" zygotes=zygotes seed=$seed cache=false && cp verdict.json anew.json &&
	for verdict in asked recalled anew; do
		jq ".failures, .status, .passed_tests" $verdict.json >$verdict || return 1
	done &&
	test_cmp asked recalled && test_cmp asked anew &&
	jq -e ".recalled.truths < .total_tests" asked.json && jq -e ".recalled.truths >= .total_tests" recalled.json &&
	test_equal 0 "$(jq .recalled.truths anew.json)" anew &&
	n=$(ls "$kept" | wc -l) && judge "$process/honest.py" zygotes=zygotes &&
	test_equal 0 "$(jq .recalled.truths verdict.json)" random && test_equal $n "$(ls "$kept" | wc -l)" files &&
	test_equal 700 "$(stat -c %a "$kept")" mode
'

test_expect_success 'candidates cannot read the caches' '
	{ cat "$process/honest.py"; echo "import os"
	  echo "assert os.path.exists(\"/usr\") and not os.path.exists(\"$HOME/.cache/kgb-agent\")"; } >peek.py &&
	test -d "$HOME/.cache/kgb-agent/truths" && judge peek.py zygotes=zygotes &&
	jq -e ".status == \"passed\"" verdict.json
'

test_expect_success 'only a plain file of moderate size is read, any other is rejected' '
	ln -s "$process/honest.py" link.py && mkfifo fifo.py && head -c 300000 /dev/zero >big.py &&
	for pair in link.py:contract.not_a_file fifo.py:contract.not_a_file big.py:contract.too_large; do
		judge_request "spec=$fixtures/aten__add.yaml" "kernel=${pair%%:*}" zygotes=zygotes |
			timeout 200 kgb-judge verify >verdict.json
		test_equal "${pair#*:}" "$(jq -r .code verdict.json)" "${pair%%:*}"
	done
	usage "absent.py" "spec=$fixtures/aten__add.yaml" kernel=absent.py zygotes=zygotes
'

test_expect_success 'no warm process is trouble of ours, never a pass' '
	judge "$process/honest.py" zygotes=nowhere &&
	jq -e ".status == \"infra_error\" and (.code | startswith(\"infra.\")) and .passed_tests == 0" verdict.json
'

# These workers are said to run an interpreter that is none, so that judges can start no others.
test_expect_success 'judges and runs share the warm workers that KGB_ZYGOTES names, if they run the same' '
	mkdir -p shared/cpu kernels && ln -s "$PWD"/zygotes/*.* shared/cpu && ln -s "/bin/true $KGB_DATA_DIR/verify/python" shared/cpu/stack &&
	cp "$KGB_TEST_SOURCE_DIR/tests/honest/aten__silu/flat.py" kernels/aten__silu.py && export KGB_ZYGOTES="$PWD/shared" &&
	KGB_PYTHON=/bin/true judge "$process/honest.py" && jq -e ".status == \"passed\"" verdict.json && rm shared/cpu/stack &&
	judge_request "spec=$fixtures/aten__add.yaml" "kernel=$process/honest.py" >request &&
	test_expect_code 2 env KGB_PYTHON=/bin/true kgb-judge verify <request >out 2>err && test_grep "name the real interpreter" err &&
	ln -s "$(readlink zygotes/stack | sed "s| .*||") $KGB_TEST_SOURCE_DIR/verify/python" shared/cpu/stack && unset KGB_DATA_DIR &&
	kgb-agent --kernels kernels --runs-dir shares >out && rm shared/cpu/runner.sock &&
	test_expect_code 4 kgb-agent --kernels kernels --runs-dir alone >out && test_grep "kgb-judge zygotes. running" out
'

# Workers whose first process for a kernel dies before it has loaded it; the second one lives, and all later ones die.
mortal_workers() {
	cp -R data mortal &&
	sed -i -e "s/^JUDGE = .*/&\nSTARTED = mmap.mmap(-1, 1)  # shared by all forks of this process/" \
		-e "s/^    def do_ready(self, request, fds):/&\n        STARTED[0] = min(STARTED[0] + 1, 9)\n        if STARTED[0] != 2:\n            os.kill(os.getpid(), 9)/" \
		mortal/verify/python/runner/runner.py &&
	mkfifo hold_mortal && { KGB_DATA_DIR=$TRASH/mortal kgb-judge zygotes --dir mortals <hold_mortal >ready_mortal 9>&- & } &&
	exec 8>hold_mortal && test_wait_for 600 grep -q ready ready_mortal
}

test_expect_success 'a process that dies before it has the kernel is replaced, once' '
	mortal_workers && judge "$process/honest.py" zygotes=mortals &&
	jq -e ".status == \"passed\"" verdict.json &&
	judge "$process/honest.py" zygotes=mortals &&
	jq -e ".status == \"infra_error\" and .code == \"infra.correctness\" and (.message | test(\"does not start\"))" verdict.json
'

# ---- candidates ----

# check KERNEL: its second line names the code (a regular expression), or "passed". The judge ends in time and leaves
# no process behind.
check() {
	want=$(sed -n '2s/^# expect: //p' "$1")
	judge "$1" zygotes=zygotes &&
		code=$(jq -r '.code // .status' verdict.json) &&
		jq -r '.message' verdict.json &&
		printf '%s\n' "$code" | grep -E -x -- "$want" &&
		jq -e '.wall_ms < 120000' verdict.json
}
(cd "$KGB_TEST_SOURCE_DIR" && printf '%s\n' "${process#"$KGB_TEST_SOURCE_DIR/"}"/*.py | sample_files) >chosen
while read -r kernel; do
	kernel=$KGB_TEST_SOURCE_DIR/$kernel
	name=$(basename "$kernel" .py)
	export kernel
	test_expect_success "$name: $(sed -n '3s/^# //p' "$kernel")" 'check "$kernel"'
done <chosen

all_gone() {
	test_below "$zygotes_pid" >now
	cmp -s idle now
}
# is_deaf PID: whether a process below it ignores all signals, as hang_deaf.py does before it hangs.
is_deaf() {
	for deaf_pid in $(test_below "$1"); do
		! grep -q "^SigIgn:.f" "/proc/$deaf_pid/status" 2>/dev/null || return 0
	done
	return 1
}
test_expect_success 'none of them left a process' '
	test_wait_for 200 all_gone || { diff idle now; false; }
'

test_expect_success 'a candidate can read only its jail' '
	KGB_SECRET_KEY=hunter2 && export KGB_SECRET_KEY && touch "$TRASH/secret" &&
	judge "$process/look_around.py" zygotes=zygotes &&
	jq -r .message verdict.json >seen &&
	test_grep "/proc= " seen && test_grep "/kgb=facts,lib,runner,tmp " seen && test_grep "/kgb/reference:2 " seen &&
	test_grep "/home/agent= " seen && test_grep "/etc/shadow:2 " seen && test_grep "ids=1000,2" seen &&
	test_no_grep -E "SECRET|API|KEY" seen &&
	judge "$process/descriptors.py" zygotes=zygotes &&
	jq -e ".message | test(\"fds=0:2,1:2,2:1,3:14(,[0-9]+:10)*,[0-9]+:14(,[0-9]+:10)*;\")" verdict.json
'

test_expect_success 'odd but right behaviour is recorded' '
	judge "$process/nondeterministic.py" zygotes=zygotes &&
	jq -e ".deterministic == false and .nondeterministic_tests > 0" verdict.json &&
	judge "$process/honest.py" zygotes=zygotes && jq -e ".deterministic" verdict.json &&
	judge "$process/idle_kernel.py" zygotes=zygotes &&
	jq -e "[.ghost.ablation[] | {(.kernel): .broken}] | add == {add_kernel: true, idle: false}" verdict.json
'

test_expect_success 'a failing case is reported with its inputs, the element and both values' '
	judge "$process/unwritten_tail.py" zygotes=zygotes &&
	jq -e ".failures | map(select(.case | contains(\"tail_1000\")))[0] |
		.n_wrong == 232 and .n_elements == 1000 and .index == [768] and .got == \"nan\" and
		(.expected | type == \"number\") and (.inputs | contains(\"self=float32[1000]\")) and
		(.hint | contains(\"mask\"))" verdict.json &&
	jq -e ".interfaces.add_Tensor.failed == .failed_tests and .passed_tests + .failed_tests + .not_run_tests == .total_tests" \
		verdict.json
'

# Each call takes half of the limit. When the machine is too slow to begin a call within the limit, the limit is larger.
test_expect_success 'the whole verification has a limit too' '
	for limit in 4 60; do
		sed "s/^    while True:/    import time; time.sleep($((limit / 2))); return result\n    while False:/" "$process/hang.py" >slow.py &&
		test_grep "^    import time; time.sleep" slow.py &&
		judge slow.py zygotes=zygotes lanes=1 timeout=${limit}s call_timeout=200s || return 1
		! jq -e ".stage == \"correctness\" and (.failures | length > 0)" verdict.json || break
	done
	jq -e ".code == \"verify.timeout\" and .not_run_tests > 0 and (.message | contains(\"not finished after $limit s\")) and
		.wall_ms >= ${limit}000 and .wall_ms < 120000" verdict.json || { cat verdict.json; return 1; }
'

test_expect_success 'the workers of a killed judge end, too' '
	judge_request "spec=$fixtures/aten__add.yaml" "kernel=$process/hang_deaf.py" timeout=2000s call_timeout=1500s \
		zygotes=zygotes >request &&
	sh -c "exec kgb-judge verify" <request >verdict.json &
	pid=$!
	test_wait_for 600 is_deaf "$zygotes_pid"
	kill -9 "$pid"
	test_wait_for 200 all_gone
	test ! -s verdict.json
'

# Here the rules about text allow everything: the list of torch operators decides.
test_expect_success 'the host may read values where the operator needs it, and nowhere else' '
	sed "/^launches:/d" "$fixtures/aten__nonzero.yaml" >aten__nonzero.yaml &&
	mkdir -p set/aten && mv aten__nonzero.yaml set/aten && cp -R "$fixtures/../cases" set/ &&
	judge_request "spec=$fixtures/aten__nonzero.yaml" "kernel=$process/by_data.py" zygotes=zygotes | kgb-judge verify >verdict.json &&
	jq -e ".status == \"passed\" and .sandbox_judged_tests > 0" verdict.json &&
	judge_request "spec=set/aten/aten__nonzero.yaml" "kernel=$process/by_data.py" zygotes=zygotes | kgb-judge verify >verdict.json &&
	jq -e ".code | IN(\"verify.host_dependent\", \"verify.shape\")" verdict.json
'

# ---- workers that are made ahead ----

mkfifo hold_spares
# Without descriptor 9, which would keep the other warm processes alive as long as these.
kgb-judge zygotes --dir spared --spares 2 <hold_spares >ready_spares 2>spared.log 9>&- &
spared_pid=$!
exec 7>hold_spares
test_wait_for 120 grep -q ready ready_spares || cat spared.log

# spares ROLE: the processes of that role's zygote whose parent is one of them, too: a spare's supervisor and its descendants.
spares() {
	test_below "$spared_pid" >below
	ps -e -o pid= -o ppid= -o args= | awk -v list="$(tr "\n" " " <below)" -v role="zygote[.]py $1 " '
		BEGIN { n = split(list, p, " "); for (i = 1; i <= n; i++) below[p[i]] = 1 }
		($1 in below) && $0 ~ role && !/bwrap/ { python[$1] = 1; parent[$1] = $2 }
		END { for (q in python) if (parent[q] in python) print q }'
}
n_spares() {
	test "$(spares "$1" | wc -l)" -eq "$2"
}

# Two spare runners, each with supervisor, init and worker; one reference, with supervisor and worker.
test_expect_success 'as many spare workers are made as were asked for' '
	test_wait_for 200 n_spares runner 6 && test_wait_for 200 n_spares reference 2
'

test_expect_success 'a spare runner serves one verification, and another takes its place; the reference stays' '
	spares runner | test_started | sort >before && spares reference | sort >reference_before &&
	for i in 1 2 3 4; do
		judge "$process/honest.py" zygotes=spared && jq -e ".status == \"passed\"" verdict.json || return 1
	done &&
	judge "$process/hang.py" zygotes=spared && jq -e ".code == \"verify.timeout\"" verdict.json &&
	judge "$process/look_around.py" zygotes=spared && cp verdict.json spared.json &&
	judge "$process/look_around.py" zygotes=zygotes &&
	test_equal "$(jq -c "[.status, .code]" verdict.json)" "$(jq -c "[.status, .code]" spared.json)" "what a spare sees" &&
	test_wait_for 200 n_spares runner 6 &&
	spares runner | test_started | sort >after && test_equal "" "$(comm -12 before after)" "spares that served twice" &&
	spares reference | sort >reference_after &&
	test_equal "" "$(comm -23 reference_before reference_after)" "references that ended" &&
	for pid in $(cat reference_after); do sed -n "s/^Max cpu time *//p" "/proc/$pid/limits"; done >limits &&
	grep -q "^[0-9]" limits
'

test_expect_success 'more at once than there are spares' '
	judge_request "spec=$fixtures/aten__add.yaml" "kernel=$process/honest.py" zygotes=spared >request &&
	for i in 1 2 3 4; do
		kgb-judge verify <request >many.$i &
		eval "pid$i=$!"
	done &&
	wait "$pid1" && wait "$pid2" && wait "$pid3" && wait "$pid4" &&
	for i in 1 2 3 4; do
		jq -e ".status == \"passed\"" many.$i || return 1
	done &&
	test_wait_for 200 n_spares runner 6 && test "$(spares reference | wc -l)" -le 4
'

test_expect_success 'a spare that died is no loss' '
	spares runner >killed && spares reference >>killed &&
	{ kill -9 $(cat killed) || true; } && # the kill of one may end another before its turn
	test_wait_for 60 test_ended $(cat killed) &&
	judge "$process/honest.py" zygotes=spared && jq -e ".status == \"passed\"" verdict.json &&
	test_wait_for 200 n_spares runner 6
'

# executors: the processes with a machine for Triton's IR, lent or not.
executors() {
	test_below "$spared_pid" >below
	ps -e -o pid= -o comm= | awk -v list="$(tr "\n" " " <below)" '
		BEGIN { n = split(list, p, " "); for (i = 1; i <= n; i++) below[p[i]] = 1 }
		($1 in below) && $2 == "kgb-exec" { print $1 }'
}
n_executors() {
	test "$(executors | wc -l)" -eq "$1"
}

test_expect_success 'executors are made ahead, serve one verification, and one that died is no loss' '
	test_wait_for 200 n_executors 4 && executors | test_started | sort >before &&
	judge "$process/honest.py" zygotes=spared lanes=4 && jq -e ".status == \"passed\"" verdict.json &&
	test_wait_for 200 n_executors 4 && executors | test_started | sort >after &&
	test_equal "" "$(comm -12 before after)" "executors that served twice" &&
	executors >killed && kill -9 $(cat killed) && test_wait_for 60 test_ended $(cat killed) &&
	judge "$process/honest.py" zygotes=spared && jq -e ".status == \"passed\"" verdict.json &&
	test_wait_for 200 n_executors 4
'

test_expect_success 'a judge that outlives its zygotes reports trouble of ours, and their spares end with them' '
	test_below "$spared_pid" >spared_below && test -s spared_below &&
	judge_request "spec=$fixtures/aten__add.yaml" "kernel=$process/hang_deaf.py" timeout=2000s call_timeout=1500s \
		zygotes=spared >request &&
	{ kgb-judge verify <request >verdict.json & } &&
	pid=$! &&
	test_wait_for 600 is_deaf "$spared_pid" && kill -9 "$spared_pid" && wait "$pid" &&
	{ jq -e ".status == \"infra_error\" and .code == \"infra.correctness\" and .stage == \"correctness\"" verdict.json || { cat verdict.json; false; }; } &&
	test_wait_for 60 test_ended $(cat spared_below)
'

# ---- the end ----

exec 7>&- 9>&- # with --case the first ones may still be alive
zygotes_status=0
wait "$zygotes_pid" || zygotes_status=$?
export zygotes_status
test_expect_success 'the warm processes end when their stdin closes, and remove their sockets' '
	test_equal 0 "$zygotes_status" status &&
	test_equal "" "$(ls zygotes)" sockets &&
	test -s idle && test_wait_for 60 test_ended $(cat idle)
'

test_done
