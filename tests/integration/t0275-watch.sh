#!/bin/sh
# SPDX-License-Identifier: MIT
test_description='watch: a run or a series followed from another terminal, which tmux plays'
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"
test_require sandbox torch tmux

fixtures=$KGB_TEST_SOURCE_DIR/tests/fixtures/agent
story=normal_cc_KernelGenBench_20261121T080000Z_0a1b
export fixtures story

# aten::add leaves no kernel, others work for longer than this test takes.
cat >agent <<\END
#!/bin/sh
grep -q 'aten::add' TASK.md && exit 0
exec sleep 1000
END
printf '#!/bin/sh\nsleep 4\n' >short && chmod +x agent short

terminals() { tmux -S "$TRASH/tmux" -f /dev/null -u "$@"; }
# open NAME COLUMNS ROWS COMMAND: a terminal in which a shell runs the command, and its exit status in the file NAME.status.
open() {
	rm -f "$1.status"
	terminals new-session -d -s "$1" -x "$2" -y "$3" "export TERM=screen; $4; echo \$? >$1.status; sleep 1000"
}
# shows NAME PATTERN: whether that terminal shows it; its screen is in the file NAME.
shows() {
	terminals capture-pane -p -t "$1" >"$1.screen"
	mv "$1.screen" "$1" && grep -q -e "$2" "$1"
}
press() { terminals send-keys -t "$1" "$2"; }
ended() { test_wait_for 20 test -s "$1.status" && test "$(cat "$1.status")" -eq "$2"; }
run_pid() { sed -n 's/^process \([0-9]*\) .*/\1/p' runs/command_*/lock; }
terminals new-session -d "sleep 10000"
test_background=$(terminals display-message -p '#{pid}')

test_expect_success 'of a run that has ended: how it ended, and its exit status' '
	mkdir done && cp -r "$fixtures/run" "done/$story" &&
	test_expect_code 130 kgb-agent watch --runs-dir done >out &&
	test_grep "^interrupted 0:22  OFFLINE  $story$" out &&
	test_grep "^\[#*x*\.*\] 3/4  75 %$" out &&
	test_grep "^ aten::mm    timeout      agent.timeout: no kernel after 20 m$" out &&
	test_no_grep ".\{81\}" out && test_no_grep "\033" out &&
	test_expect_code 130 kgb-agent watch "done/$story" --once >again && cmp out again
'
test_expect_success 'a run that is not there gets the nearest name' '
	test_expect_code 2 kgb-agent watch --runs-dir done normal_cc_KernelGenBench 2>err && test_grep "$story" err &&
	test_expect_code 2 kgb-agent watch --runs-dir nowhere 2>err && test_grep "there is no run in" err
'
test_expect_success 'JSON has what the block shows' '
	test_expect_code 130 kgb-agent watch --runs-dir done --json >out.json &&
	python3 "$KGB_TEST_SOURCE_DIR/tests/helpers/validate_schema.py" "$KGB_TEST_SOURCE_DIR/docs/schemas/watch.schema.json" out.json &&
	python3 "$KGB_TEST_SOURCE_DIR/tests/helpers/validate_schema.py" "$KGB_TEST_SOURCE_DIR/docs/schemas/progress.schema.json" \
		"$fixtures/progress.json" &&
	python3 -c "
import json
document = json.load(open(\"out.json\"))
assert [run[\"progress\"] for run in document[\"runs\"]] == [json.load(open(\"$fixtures/progress.json\"))]
assert (document[\"status\"], document[\"is_held\"], document[\"is_cut_off\"]) == (\"interrupted\", False, False)
"
'

python3 "$KGB_TEST_SOURCE_DIR/tests/helpers/hold_run.py" hostile/run &
test_background="$test_background $!"
test_expect_success 'texts of agents stay in their cells, whatever they hold' '
	test_wait_for 20 test -s hostile/run/journal.jsonl &&
	open attack 80 12 "kgb-agent watch --runs-dir hostile" &&
	test_wait_for 20 shows attack "^q leaves" && cp attack whole &&
	test "$(sed -n 1p whole | cut -c1-8)" = "running " && test "$(sed -n 12p whole)" = "q leaves; the run goes on" &&
	test "$(grep -c "  failed       agent.no_kernel: " whole)" -eq 2 &&
	test_grep "^ aten::mm .* running  .*x1b\[2J" whole &&
	test "$(grep -c . whole)" -eq 7 && test_no_grep "$(printf "\342\200\256")" whole &&
	kgb-agent watch --runs-dir hostile --once >out && test_no_grep "$(printf "\033")" out && test "$(wc -l <out)" -eq 6
'
test_expect_success 'a run on a terminal: lines in columns without a name before them, and the block' '
	open run 80 24 "KGB_COMMAND_BIN=$TRASH/agent kgb-agent add,mm,silu,softmax,sum -m command --skip-verify --device-count 5" &&
	test_wait_for 20 shows run "4 running" &&
	test_grep "^   *[0-9:]*  aten::add      attempt 1  ended after .*agent.ok" run &&
	test_grep "^ aten::add      failed       agent.no_kernel: " run &&
	test_no_grep "kgb-agent: " run && test_no_grep "started" run &&
	test "$(grep -c "^ aten::[a-z]* *running  *[0-9:]*$" run)" -eq 4
'
test_expect_success 'watch shows the same block on 80x24, and which key leaves' '
	open watch 80 24 "kgb-agent watch" &&
	test_wait_for 20 shows watch "^q leaves; the run goes on$" &&
	test_grep "^running [0-9:]*  OFFLINE  command_KernelGenBench_" watch &&
	test_grep "^x 1 not passed  > 4 running  (1 failed)$" watch &&
	sed -n "/^x 1 not/p; /^ aten/s/ [0-9]*:[0-9]*$//p" run | cut -c1-78 >of_run &&
	sed -n "/^x 1 not/p; /^ aten/s/ [0-9]*:[0-9]*$//p" watch | cut -c1-78 >of_watch && diff of_run of_watch
'
test_expect_success 'it follows the size of its terminal, down to one that has no room for all' '
	terminals resize-window -t watch -x 40 -y 8 &&
	test_wait_for 20 shows watch "^ +[0-9] more running$" &&
	test "$(sed -n 1p watch | cut -c1-2)" = "[x" && test_no_grep ".\{41\}" watch &&
	terminals resize-window -t watch -x 120 -y 30 &&
	test_wait_for 20 shows watch "^\[x*>\{70,\}\] 1/5  20 %$" &&
	test "$(grep -c "^ aten::.* running" watch)" -eq 4
'
test_expect_success 'q leaves with status 0 and the last block on the terminal; the run goes on' '
	press watch q && ended watch 0 &&
	test_wait_for 20 shows watch "^running .*OFFLINE" && test_no_grep "q leaves" watch &&
	kill -0 "$(run_pid)"
'
test_expect_success 'Ctrl-C leaves with status 130; the run goes on' '
	open ctrl 60 20 "kgb-agent watch" && test_wait_for 20 shows ctrl "^q leaves" &&
	press ctrl C-c && ended ctrl 130 && kill -0 "$(run_pid)"
'
test_expect_success 'colours come with words, and NO_COLOR ends them' '
	open plain 80 24 "NO_COLOR=1 kgb-agent watch" && test_wait_for 20 shows plain "^q leaves" &&
	open color 80 24 "kgb-agent watch" && test_wait_for 20 shows color "^q leaves" &&
	terminals capture-pane -e -p -t color >color && test_grep "$(printf "\033")\[31mfailed" color &&
	terminals capture-pane -e -p -t plain >plain && test_no_grep "$(printf "\033")\[3[1-7]m" plain
'
test_expect_success 'without a terminal, or on a dumb one: the block once and no escape sequence' '
	test_expect_code 0 kgb-agent watch --once >once && test_grep "^running .*OFFLINE" once && test_no_grep "\033" once &&
	open dumb 80 24 "TERM=dumb kgb-agent watch" && test_wait_for 20 shows dumb "^ aten::sum *running" &&
	test_no_grep "q leaves" dumb && press dumb C-c && ended dumb 130 &&
	open unknown 80 24 "TERM=nosuch kgb-agent watch" && test_wait_for 20 shows unknown "^ aten::sum *running" &&
	kgb-agent watch 2>err | head -n 1 >one && test_grep "^running" one && test_no_grep . err
'
test_expect_success 'after kill -9 of the run, watch names the command that continues it, and ends with 137' '
	open full 80 24 "kgb-agent watch" && test_wait_for 20 shows full "^q leaves" &&
	kill -KILL "$(run_pid)" && ended full 137 &&
	test_wait_for 20 shows full "resume command_" && test_grep "^cut off [0-9:]*  OFFLINE" full &&
	test_expect_code 137 kgb-agent watch >out 2>err && test_grep "^cut off" out &&
	test_expect_code 137 kgb-agent watch --json >out.json 2>err &&
	python3 -c "import json; assert json.load(open(\"out.json\"))[\"is_cut_off\"]"
'
test_expect_success 'when the run ends, watch ends with its status: on a terminal and in a file' '
	terminals kill-session -t run && rm -rf runs &&
	open quick 80 24 "KGB_COMMAND_BIN=$TRASH/short kgb-agent add,mm -m command --skip-verify -v" &&
	test_wait_for 20 shows quick "attempt 1  started" &&
	open last 80 24 "kgb-agent watch" &&
	test_expect_code 1 kgb-agent watch >out 2>err &&
	ended last 1 && ended quick 1 &&
	test_grep "^completed [0-9:]*  OFFLINE" out &&
	test_grep "^aten::mm: attempt 1 ended after .*, no kernel" out &&
	test_wait_for 20 shows last "^completed [0-9:]*  OFFLINE"
'

# ---- verifications ----

mkdir checks
find "$KGB_TEST_SOURCE_DIR/tests/honest/aten__add" -name '*.py' | sort | head -n 1 | xargs -I{} cp {} checks/kernel.py
printf '#!/bin/sh\ncp "$(dirname "$0")/kernel.py" . && kgb-verify\n' >checks/run && chmod +x checks/run
test_expect_success 'a check of the agent and the final verification show when a judge works on them' '
	{ code=0 && KGB_COMMAND_BIN=$TRASH/checks kgb-agent add -m command --runs-dir checked >out 2>err || code=$?; echo "$code" >checked.status; } &
	test_background="$test_background $!"
	for _ in $(seq 2000); do
		test ! -s checked.status || break
		kgb-agent watch --runs-dir checked --once >>seen 2>/dev/null || true
		sleep 0.1
	done
	test_equal 0 "$(cat checked.status)" status
	test_grep "^ aten::add  running      [0-9:]*  judging" seen && test_grep "^ aten::add  verifying    [0-9:]*  judging" seen &&
	python3 "$KGB_TEST_SOURCE_DIR/tests/helpers/validate_schema.py" "$KGB_TEST_SOURCE_DIR/docs/schemas/progress.schema.json" checked/*/progress.json &&
	python3 -c "
import glob, json
document = json.load(open(glob.glob(\"checked/*/progress.json\")[0]))
assert document[\"operators\"][\"aten::add\"][\"judge\"] == {\"queued\": 0, \"running\": 0}
"
'

# ---- a series ----

series_pid() { sed -n 's/^process \([0-9]*\) .*/\1/p' many/series_*/command-1/lock; }
# rows NAME: what two terminals show alike of a series: counts, runs and operators without their times.
rows() { sed -n -e "/^x 2 not/p" -e "/^ command-/{s/ [0-9]*:[0-9]*$//;p;}" "$1" | cut -c1-78; }
test_expect_success 'a series on a terminal: a line for each run, and labels before operators' '
	open series 80 24 "KGB_COMMAND_BIN=$TRASH/agent kgb-agent add,mm,silu -m command --repeat 2 --skip-verify --device-count 6 --runs-dir many" &&
	test_wait_for 30 shows series "^x 2 not passed  > 4 running  (2 failed)$" &&
	test_grep "^running [0-9:]*  OFFLINE  series_KernelGenBench_[^ ]*  2 runs$" series &&
	test_grep "^\[x*>*\] 2/6  33 %$" series &&
	test_grep "^ command-1  running      1/3  0 generated  1 not passed  .0.00$" series &&
	test_grep "^ command-2  aten::add   failed       agent.no_kernel: " series &&
	test_grep "^ command-2  aten::silu  running      [0-9:]*$" series &&
	test_grep "^   *[0-9:]*  command-1  aten::add   attempt 1  ended after .*agent.ok" series &&
	test_no_grep "kgb-agent: " series
'
test_expect_success 'watch shows the block of the series, by its name and as the latest run; a run of it alone has no labels' '
	name=$(basename many/series_*) &&
	open together 80 24 "kgb-agent watch --runs-dir many" &&
	test_wait_for 20 shows together "^q leaves; the series goes on$" &&
	rows series >of_series && rows together >of_watch && diff of_series of_watch && test "$(wc -l <of_watch)" -eq 9 &&
	kgb-agent watch "$name" --runs-dir many --once >out && rows out | diff of_watch - &&
	kgb-agent watch "many/$name" --once >out && rows out | diff of_watch - &&
	kgb-agent watch "$name/command-2" --runs-dir many --once >out &&
	test_grep "^running [0-9:]*  OFFLINE  command-2$" out && test_grep "^ aten::silu  running " out && test "$(wc -l <out)" -eq 7
'
test_expect_success 'the block of a series follows the size of its terminal' '
	terminals resize-window -t together -x 40 -y 8 &&
	test_wait_for 20 shows together "^ +[0-9] more running$" && test "$(sed -n 1p together | cut -c1-2)" = "[x" && test_no_grep ".\{41\}" together &&
	terminals resize-window -t together -x 40 -y 16 &&
	test_wait_for 20 shows together "^ comma~-2  aten::add " && test_no_grep ".\{41\}" together &&
	terminals resize-window -t together -x 120 -y 30 &&
	test_wait_for 20 shows together "^\[x*>\{70,\}\] 2/6  33 %$" && test "$(grep -c "^ command-[12]  aten::.* running" together)" -eq 4
'
test_expect_success 'JSON of a series has its runs, and plain lines begin with the label' '
	kgb-agent watch --runs-dir many --json >out.json &&
	python3 "$KGB_TEST_SOURCE_DIR/tests/helpers/validate_schema.py" "$KGB_TEST_SOURCE_DIR/docs/schemas/watch.schema.json" out.json &&
	python3 -c "
import json
document = json.load(open(\"out.json\"))
assert [(run[\"run\"], run[\"progress\"][\"summary\"][\"running\"]) for run in document[\"runs\"]] == [(\"command-1\", 2), (\"command-2\", 2)]
assert (document[\"status\"], document[\"is_held\"]) == (\"running\", True)
"
'
test_expect_success 'after kill -9 of the series, watch names the command that continues all of it' '
	kill -KILL "$(series_pid)" && ended together 137 &&
	test_wait_for 20 shows together "many/series_Kernel" && test_grep "^cut off [0-9:]*  OFFLINE  series_" together &&
	test_grep "^ command-2  cut off      1/3  0 generated  1 not passed  .0.00$" together &&
	terminals kill-session -t series
'
test_expect_success 'a series that goes on is watched with its earlier runs, to its end and status' '
	open resumed 80 24 "KGB_COMMAND_BIN=$TRASH/short kgb-agent resume --runs-dir many --device-count 1" &&
	test_wait_for 30 shows resumed "^ command-[12]  aten::mm    running " &&
	test_grep "^ command-1  running      [12]/3  0 generated  [12] not passed  .0.00$" resumed &&
	test_expect_code 1 kgb-agent watch --runs-dir many >out 2>err &&
	test_grep "^command-2 aten::silu: attempt 2 ended after .*, no kernel" out &&
	test_grep "^completed [0-9:]*  OFFLINE  series_.*  2 runs$" out &&
	test_grep "^ command-2  completed    3/3  0 generated  3 not passed  .0.00$" out && ended resumed 1
'

# ---- runs that are removed ----

test_expect_success 'when the folder of a run is removed, watch ends and says so' '
	cp -r hostile hold && rm -rf hold/run && python3 "$KGB_TEST_SOURCE_DIR/tests/helpers/hold_run.py" hold/run & holder=$! &&
	test_wait_for 20 test -s hold/run/journal.jsonl &&
	open gone 80 12 "kgb-agent watch --runs-dir hold" && test_wait_for 20 shows gone "^q leaves" &&
	rm -rf hold/run && ended gone 2 && test_wait_for 20 shows gone "run .run. is gone" && kill "$holder"
'
test_done
