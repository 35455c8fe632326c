#!/bin/sh
# SPDX-License-Identifier: MIT
test_description='kgb-agent verify: the judge from the command line'
. "$(dirname "$0")/lib.sh"

# kgb-agent finds faults of the arguments before it starts a process, so this part needs no sandbox.
printf 'x = 1\n' >kernel.py
ln -s kernel.py link.py
mkfifo fifo.py
mkdir dir.py
head -c 300000 /dev/zero >big.py

test_expect_success 'file and operator must be named' '
	test_expect_code 2 kgb-agent verify 2>err && test_grep "FILE" err &&
	test_expect_code 2 kgb-agent verify kernel.py 2>err && test_grep "\-\-op" err &&
	test_expect_code 2 kgb-agent verify kernel.py kernel.py --op add 2>err && test_grep "unexpected" err
'

test_expect_success 'an unknown operator gets the nearest names' '
	test_expect_code 2 kgb-agent verify kernel.py --op softmx 2>err &&
	test_grep "did you mean .softmax." err
'

test_expect_success 'only a plain small file is accepted' '
	for pair in link.py:symbolic fifo.py:regular dir.py:regular /dev/zero:regular big.py:262144 absent.py:absent; do
		file=${pair%%:*}
		test_expect_code 2 timeout 100 kgb-agent verify "$file" --op add 2>err
		test_grep "${pair#*:}" err
		test_grep "$file" err
	done
'

test_expect_success 'a bad seed is refused' '
	test_expect_code 2 kgb-agent verify kernel.py --op add --seed 12 2>err && test_grep "\-\-seed" err &&
	test_expect_code 2 kgb-agent verify kernel.py --op add --seed zz112233445566778899aabbccddeeff 2>err
'

test_expect_success 'a missing judge and a missing interpreter are environment errors' '
	mkdir lonely &&
	cp "$(command -v kgb-agent)" lonely/ &&
	test_expect_code 4 env KGB_DATA_DIR="$KGB_TEST_SOURCE_DIR" lonely/kgb-agent verify kernel.py --op add 2>err &&
	test_grep "kgb-judge" err &&
	test_expect_code 4 kgb-agent verify kernel.py --op add --set paths.python=/nonexistent >out 2>err &&
	grep -q "/nonexistent" out err
'

if ! test_have sandbox >/dev/null || ! test_have torch >/dev/null; then
	test_skip 'kernels are judged' 'needs a sandbox and torch'
	test_done
fi

# The two kernels of the offline model's session: the first lacks its tail mask.
for name in buggy fixed; do
	awk -v name="  $name: |" '
		$0 == name { on = 1; next }
		on && /^ ? ? ?[^ ]/ { on = 0 }
		on { print substr($0, 5) }
	' "$KGB_TEST_SOURCE_DIR/datasets/offline/aten__add.yaml" >"$name.py"
done

test_expect_success 'a right kernel passes' '
	[ -s fixed.py ] &&
	kgb-agent verify fixed.py --op add >out &&
	test_grep "^PASSED " out
'

test_expect_success 'a wrong one fails with the case, status 1, and the verdict is valid' '
	test_expect_code 1 kgb-agent verify buggy.py --op aten__add --json >verdict.json &&
	python3 "$KGB_TEST_SOURCE_DIR/tests/helpers/validate_schema.py" \
		"$KGB_TEST_SOURCE_DIR/docs/schemas/verdict.schema.json" verdict.json &&
	python3 -c "
import json
v = json.load(open(\"verdict.json\"))
assert v[\"status\"] == \"failed\" and v[\"code\"].startswith(\"verify.\"), v
assert v[\"failures\"][0][\"case\"], v
"
'

test_expect_success 'the seed of a verdict repeats it' '
	sed "s/result = a + b \* ALPHA/& + 1/" fixed.py >wrong.py && test_must_fail cmp -s wrong.py fixed.py &&
	test_expect_code 1 kgb-agent verify wrong.py --op add --json >one.json &&
	test_expect_code 1 kgb-agent verify wrong.py --op add --json --seed "$(jq -r .seed one.json)" >two.json &&
	python3 -c "
import json
one, two = (json.load(open(n)) for n in (\"one.json\", \"two.json\"))
assert one[\"seed\"] == two[\"seed\"] and one[\"failures\"] and one[\"failures\"] == two[\"failures\"]
"
'

test_expect_success 'a kernel that never ends is rejected in time' '
	{ cat fixed.py && printf "while True:\n    pass\n"; } >loop.py &&
	start=$(date +%s) &&
	test_expect_code 1 kgb-agent verify loop.py --op add --set limits.call_timeout=3s --timeout 300s --json >loop.json &&
	jq -e ".code == \"verify.timeout\"" loop.json &&
	[ $(($(date +%s) - start)) -lt 300 ]
'

# loops PID: whether one of the workers below it is in that loop. A worker is a fork of the warm runner, with separate processor
# time. The file children lists all processes below it.
loops() {
	test_below "$1" >children
	ps -o pid= -o ppid= -o cputimes= -o args= -p "$(paste -s -d , children)" 2>/dev/null | awk '
		/zygote[.]py runner / && !/bwrap/ { parent[$1] = $2; time[$1] = $3 }
		END {
			for (p in parent)
				found = found || (parent[p] in parent && time[p] >= 2)
			exit !found
		}'
}
test_expect_success 'an interrupt ends the judge and its whole tree' '
	unset KGB_ZYGOTES # shared workers are not below the judge
	kgb-agent verify loop.py --op add --set limits.call_timeout=2000s --timeout 2000s >out 2>&1 &
	pid=$!
	test_wait_for 600 loops "$pid" || { cat out; kill -TERM "$pid"; return 1; }
	children=$(cat children)
	kill -TERM "$pid"
	rc=0
	wait "$pid" || rc=$?
	test_equal 143 "$rc" "exit status"
	test_wait_for 60 test_ended $children
'

test_done
