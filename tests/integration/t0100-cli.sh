#!/bin/sh
# SPDX-License-Identifier: MIT
test_description='the command line: help, versions, typos, exit statuses; a mistake creates no file'
. "$(dirname "$0")/lib.sh"

# nothing_created: the directory holds its old files and no run.
nothing_created() {
	[ ! -e runs ] || {
		echo 'runs/ was created'
		return 1
	}
}

test_expect_success 'a bare call shows the commands on stderr and is a usage error' '
	test_expect_code 2 kgb-agent >out 2>err &&
	[ ! -s out ] &&
	test_grep "usage: kgb-agent" err &&
	test_grep "  verify " err
'

test_expect_success 'help goes to stdout, for each command' '
	for command in run verify list dataset doctor config rebuild; do
		kgb-agent $command --help >out 2>err
		test_grep "usage: kgb-agent $command" out
		test_grep "  -h, --help" out
		[ ! -s err ]
	done
	kgb-agent --help >out &&
	test_grep "  rebuild " out
'

test_expect_success 'no line of help is wider than 110 columns' '
	for command in run verify list dataset doctor config rebuild; do
		kgb-agent $command --help
	done >out &&
	! grep -E "^.{111}" out
'

test_expect_success 'the version names the libraries' '
	kgb-agent --version >out &&
	test_grep "^kgb-agent [0-9]*\.[0-9]*\.[0-9]*$" out &&
	for library in libuv libgit2 libcurl libmicrohttpd openssl libyaml cJSON; do
		test_grep "  $library [0-9]" out
	done &&
	kgb-agent --version --json >out.json &&
	python3 -c "
import json
assert json.load(open(\"out.json\"))[\"kgb-agent\"]
"
'

test_expect_success 'unknown options are refused with the nearest name' '
	test_expect_code 2 kgb-agent add --skip-gn 2>err &&
	test_grep "unknown option .--skip-gn. of .run.; did you mean .--skip-gen." err &&
	test_expect_code 2 kgb-agent add -Z 2>err &&
	test_grep "unknown option .-Z." err &&
	nothing_created
'

test_expect_success 'an option of another command is refused with the name of that command' '
	test_expect_code 2 kgb-agent list --skip-gen 2>err &&
	test_grep "it is one of .run." err
'

test_expect_success 'unknown operators, methods and datasets are refused with the nearest name' '
	test_expect_code 2 kgb-agent softmx 2>err &&
	test_grep "unknown operator .softmx.; did you mean .softmax." err &&
	test_expect_code 2 kgb-agent aten::ad 2>err &&
	test_grep "aten::add" err &&
	test_expect_code 2 kgb-agent aten:add 2>err &&
	test_grep "with two colons, .aten::add." err &&
	test_expect_code 2 kgb-agent add -m normal_c 2>err &&
	test_grep "did you mean .normal_cc." err &&
	test_expect_code 2 kgb-agent add -d KernelGenBnch 2>err &&
	test_grep "did you mean .KernelGenBench." err &&
	nothing_created
'

test_expect_success 'operators must be named, and an empty word is not all of them' '
	for words in "-m naive_cc" "add " "run"; do
		case $words in "add ") set -- add "" ;; *) set -- $words ;; esac
		test_expect_code 2 kgb-agent "$@" 2>err
		test_grep "operator" err
	done &&
	test_expect_code 2 kgb-agent "" 2>err && test_grep "names no operator" err &&
	test_expect_code 2 kgb-agent ",," 2>err && test_grep "names no operator" err &&
	test_expect_code 2 kgb-agent verify "" --op add 2>err && test_grep "names no file" err &&
	test_expect_code 2 kgb-agent quux 2>err && test_grep ".kgb-agent list. lists" err &&
	test_expect_code 2 kgb-agent help 2>err && test_grep "\-\-help" err &&
	nothing_created
'

test_expect_success 'options that contradict each other are refused before anything starts' '
	test_expect_code 2 kgb-agent add --run x 2>err && test_grep "add --skip-gen" err &&
	test_expect_code 2 kgb-agent --skip-gen --skip-verify 2>err && test_grep "\-\-skip-verify" err &&
	test_expect_code 2 kgb-agent --kernels x --run y 2>err && test_grep "give one of them" err &&
	nothing_created
'

test_expect_success 'bad values are refused by the name of their option' '
	test_expect_code 2 kgb-agent add --device-count 0 2>err &&
	test_grep "\-\-device-count" err &&
	test_expect_code 2 kgb-agent add --timeout 20 2>err &&
	test_grep "\-\-timeout.*unit" err &&
	test_expect_code 2 kgb-agent add --set run.metod=x 2>err &&
	test_grep "did you mean .run.method." err &&
	test_expect_code 2 kgb-agent add --set run.method 2>err &&
	test_grep "KEY=VALUE" err &&
	test_expect_code 2 kgb-agent add --timeout 2>err &&
	test_grep "needs a value" err &&
	nothing_created
'

test_expect_success 'a device that is not there is an error of the machine, and nothing is created' '
	printf "x = 1\n" >aten__add.py &&
	test_expect_code 2 kgb-agent --kernels . --device gpu 2>err && test_grep "none of cpu, auto, cuda" err &&
	test_expect_code 4 env CUDA_VISIBLE_DEVICES= kgb-agent --kernels . --device cuda 2>err &&
	test_grep "hidden by CUDA_VISIBLE_DEVICES.*--device cpu" err &&
	test_expect_code 4 env CUDA_VISIBLE_DEVICES= kgb-agent verify aten__add.py --op add --device cuda:0 2>err &&
	test_grep "hidden" err &&
	test_expect_code 4 env CUDA_VISIBLE_DEVICES= kgb-agent doctor --device cuda >out &&
	test_grep "^FAIL  gpu " out &&
	nothing_created
'

test_expect_success 'a bad configuration file is named with line and column, status 3' '
	printf "limits:\n  attempt_timout: 20m\n" >bad.yaml &&
	test_expect_code 3 kgb-agent config --config bad.yaml 2>err &&
	test_grep "bad.yaml:2:3: .*did you mean .attempt_timeout." err &&
	test_expect_code 3 kgb-agent add --config bad.yaml 2>err &&
	test_expect_code 3 kgb-agent config --config absent.yaml 2>err &&
	test_grep "absent.yaml" err &&
	test_expect_code 3 env KGB_LIMITS_MEMORY=much kgb-agent config 2>err &&
	test_grep "KGB_LIMITS_MEMORY" err &&
	test_expect_code 2 kgb-agent config --set limits.memory=1 2>err &&
	test_grep "limits.memory: .1. is out of range" err &&
	test_expect_code 3 env KGB_GATEWAY_UPSTREAM_URL=api.example.org kgb-agent config 2>err &&
	test_grep "KGB_GATEWAY_UPSTREAM_URL: gateway.upstream_url must start with https://" err &&
	nothing_created
'

# Files as editors and other systems write them: "ok", or a part of the message.
test_expect_success 'a configuration file may come from any editor; other faults are reported' '
	while IFS="|" read -r text want; do
		printf "$text" >some.yaml
		rc=0
		kgb-agent config --config some.yaml >out 2>err || rc=$?
		if [ "$want" = ok ]; then
			[ $rc = 0 ] || { echo "$text"; cat err; exit 1; }
		else
			[ $rc = 3 ] || { echo "$text: $rc"; exit 1; }
			test_grep "^kgb-agent: error: .*some.yaml.*$want" err
		fi
	done <<-"EOF"
	|ok
	# nothing\n|ok
	\357\273\277run:\n  method: naive_cc\n|ok
	run:\r\n  method: naive_cc\r\n|ok
	run:\n\tmethod: naive_cc\n|indent with blanks, not tabs
	\377\376r\000u\000n\000|UTF-8
	run:\n  method: caf\351\n|UTF-8
	run: {}\n---\nrun: {}\n|a second document
	paths: {prices: }\n|paths.prices must not be empty
	EOF
	mkfifo some.fifo &&
	test_expect_code 3 timeout 100 kgb-agent config --config some.fifo 2>err &&
	test_grep "is a fifo" err
'

test_expect_success 'config shows every value with its origin, and flags win' '
	mkdir -p c &&
	cd c &&
	printf "run:\n  method: from_file\n  dataset: from_file\n" >config.yaml &&
	env KGB_RUN_METHOD=from_env kgb-agent config --model from_flag >out &&
	test_grep "^  dataset: from_file  # config.yaml:3$" out &&
	test_grep "^  method: from_env  # KGB_RUN_METHOD$" out &&
	test_grep "^  name: from_flag  # --model$" out &&
	test_grep "^  runs: runs  # default$" out &&
	kgb-agent config --json >out.json &&
	python3 -c "
import json
d = json.load(open(\"out.json\"))
assert d[\"run.method\"] == {\"value\": \"from_file\", \"origin\": \"config.yaml:2\"}, d
"
'

test_expect_success 'the output of config is a configuration with the same meaning' '
	kgb-agent config --timeout 90s >one.yaml &&
	kgb-agent config --config one.yaml | sed "s/  #.*//" >two &&
	sed "s/  #.*//" one.yaml | cmp - two
'

test_expect_success 'the example is in the tree' '
	kgb-agent config --example | cmp - "$KGB_TEST_SOURCE_DIR/config.example.yaml"
'

test_expect_success 'the codes are documented' '
	kgb-agent list --codes | cmp - "$KGB_TEST_SOURCE_DIR/docs/codes.md" &&
	kgb-agent list --codes --json | python3 -c "
import json, sys
rows = {row[\"code\"]: row for row in json.load(sys.stdin)}
assert rows[\"cheat.ghost\"][\"status\"] == \"cheated\", rows
assert rows[\"provider.network\"] == {\"code\": \"provider.network\", \"status\": \"infra_error\", \"blame\": \"provider\",
    \"tried_again\": True, \"meaning\": rows[\"provider.network\"][\"meaning\"]}, rows
"
'

test_expect_success 'the schema of the configuration is JSON and has every section' '
	kgb-agent config --schema >schema.json &&
	python3 -c "
import json
d = json.load(open(\"schema.json\"))
assert set(d[\"properties\"]) == {\"paths\", \"run\", \"limits\", \"budget\", \"sandbox\", \"model\", \"prompt\", \"gateway\"}, d
"
'

test_expect_success 'an unknown variable of ours is warned of, keys are not shown' '
	env KGB_RUN_METHD=x ANTHROPIC_API_KEY=sk-secret kgb-agent config >out 2>err &&
	test_grep "KGB_RUN_METHD.*did you mean .KGB_RUN_METHOD." err &&
	! grep -q sk-secret out err
'

test_expect_success 'list names operators and methods, as text and as JSON' '
	kgb-agent list >out &&
	test_grep "^aten::add " out &&
	test_grep "^vllm13::rms_norm " out &&
	test "$(awk "{ print index(\$0, \" interface\") }" out | sort -u | wc -l)" -eq 1 &&
	kgb-agent list add -v >out && test_grep "cases [1-9][0-9]* core, [1-9][0-9]* edge" out &&
	kgb-agent list add,softmax aten__mm --json >out.json &&
	python3 -c "
import json
names = [o[\"name\"] for o in json.load(open(\"out.json\"))]
assert names == [\"aten::add\", \"aten::softmax\", \"aten::mm\"], names
" &&
	kgb-agent list --methods >out &&
	test_grep "^normal_cc " out &&
	kgb-agent list --methods --json | python3 -m json.tool >/dev/null &&
	kgb-agent list silu -v >out &&
	test_grep "types float32" out &&
	test_grep "def silu_out " out
'

test_expect_success 'a full stdout is an error, a closed one is not' '
	test_expect_code 4 kgb-agent list >/dev/full 2>err &&
	test_grep "stdout" err &&
	kgb-agent list | head -n 1 | grep -q "^aten::"
'

test_expect_success 'kgb-agent works without standard descriptors' '
	test_expect_code 2 kgb-agent nonsense <&- >&- 2>&-
'

test_expect_success 'doctor ends with 4 and names the remedy when a part is missing' '
	test_expect_code 4 kgb-agent doctor --set paths.python=/nonexistent >out &&
	test_grep "^FAIL  python " out &&
	test_grep "fix: kgb-agent setup" out &&
	test_expect_code 4 kgb-agent doctor --json --set paths.claude=/nonexistent >out.json &&
	python3 -c "
import json
d = json.load(open(\"out.json\"))
assert d[\"ok\"] is False
(claude,) = [c for c in d[\"checks\"] if c[\"name\"] == \"claude\"]
assert claude[\"status\"] == \"FAIL\" and claude[\"fix\"], claude
" &&
	test_expect_code 4 kgb-agent doctor --set gateway.mode=live >out &&
	test_grep "^FAIL  model " out &&
	test_grep "export ANTHROPIC_API_KEY" out
'

# All needs of a run are missing at once: each line still names one remedy.
test_expect_success 'doctor names each missing part when nearly all are missing' '
	printf "#!/bin/sh\nexec python3 \"\$@\"\n" >wrapper && chmod +x wrapper &&
	printf "prices: [\n" >prices.yaml && : >no-program &&
	rc=0 && env -u HOME LC_ALL=de_DE.ISO-8859-1 TERM=dumb KGB_BWRAP=/nonexistent KGB_PYTHON="$PWD/wrapper" \
		KGB_CLAUDE_BIN="$PWD/no-program" KGB_PATHS_PRICES=prices.yaml KGB_PATHS_RUNS=/proc/nonexistent \
		ANTHROPIC_API_KEY=k KGB_GATEWAY_UPSTREAM_URL=http://127.0.0.1:1 \
		kgb-agent doctor >out 2>err || rc=$? &&
	[ $rc = 4 ] && [ ! -s err ] &&
	test_grep "^FAIL  sandbox .*install bubblewrap" out &&
	test_grep "^FAIL  python .*not a wrapper" out &&
	test_grep "^FAIL  claude .*which is no program" out &&
	test_grep "^FAIL  api .*http://127.0.0.1:1: " out &&
	test_grep "^FAIL  prices .*prices.yaml" out &&
	test_no_grep "OpenCode .*ends with status" out &&
	test_grep "^FAIL  runs .*/proc. cannot be written" out &&
	[ "$(grep -cE "^(FAIL|WARN) " out)" = "$(grep -c "  why: " out)" ]
'

test_expect_success 'as many open files as doctor asks for are enough' '
	(ulimit -n 256 && kgb-agent add --dry-run >out)
'

test_expect_success 'without descriptors, each remedy is about descriptors' '
	(ulimit -n 64 && test_expect_code 4 kgb-agent doctor >out) &&
	test_grep "fix: ulimit -n 1024" out &&
	test_grep "^FAIL  claude    not tried without a sandbox" out &&
	! grep -E "install|setup|landlock +$|PASS  cgroup" out
'

test_expect_success 'mistyped words: all at once, with what was meant' '
	test_expect_code 2 kgb-agent ad,silx -m naive_cc 2>err && test_grep "unknown operator .ad.; did you mean .add." err &&
	test_grep "unknown operator .silx.; did you mean .silu." err &&
	test_expect_code 2 kgb-agent status --help 2>err && test_grep ".status. is no command" err && test_grep "lists the commands" err &&
	test_expect_code 2 kgb-agent repot 2>err && test_grep "the command .report." err && ! grep renorm err &&
	test_expect_code 2 kgb-agent dataset lnit 2>err && test_grep "did you mean .lint." err &&
	kgb-agent add --help >out && test_grep "^usage: kgb-agent" out
'
test_expect_success 'all that is wrong with settings, operators and method is reported at once, with place and remedy' '
	printf "run:\n  metod: x\nlimits:\n  attempt_timeout: 90\n  verify_calls: 0\ngateway:\n  upstream_url: ftp://x\n" >many.yaml &&
	KGB_SANDBOX_FILES=1 test_expect_code 3 kgb-agent ad,silx -m normal_c -c many.yaml --set limits.calls=3 --max-usd x --set word 2>err &&
	while read -r words; do test_grep "error: $words" err || return 1; done <<-\END &&
	many.yaml:2:3: run: unknown key .metod.; did you mean .method.
	many.yaml:4:20: limits.attempt_timeout: .90. needs a unit
	many.yaml:5:17: limits.verify_calls: .0. is out of range: must be 1 to 10000
	many.yaml:7: gateway.upstream_url must start with https:// or http://
	KGB_SANDBOX_FILES: .1. is out of range
	--max-usd: .x. is not a number
	--set limits.calls: unknown setting .limits.calls.
	--set .word.: write KEY=VALUE
	unknown operator .ad.; did you mean
	unknown operator .silx.; did you mean .silu.
	unknown method .normal_c.; did you mean .normal_cc.
	END
	test_equal 11 "$(grep -c error: err)" errors &&
	test_expect_code 2 kgb-agent silx -m normal_c --set limits.calls=3 2>err && test_equal 3 "$(grep -c error: err)" errors
'
test_expect_success 'the addresses of providers come from the variables that other programs read, too' '
	OPENAI_BASE_URL=http://h/x/v1/ ANTHROPIC_BASE_URL=https://a kgb-agent config >out &&
	test_grep "openai_url: \"http://h/x\"  # OPENAI_BASE_URL" out && test_grep "upstream_url: \"https://a\"  # ANTHROPIC_BASE_URL" out &&
	test_expect_code 3 env OPENAI_BASE_URL=h kgb-agent config 2>err && test_grep "must start with https:// or http://" err
'
test_done
