#!/bin/sh
# SPDX-License-Identifier: MIT
test_description='the method `command`: any program that leaves a kernel.py, in the same sandbox as a coding CLI'
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"
test_require sandbox torch jq

# The honest kernel and a wrong one, as an agent would write them: the program may bring its own files.
mkdir agent
find "$KGB_TEST_SOURCE_DIR/tests/honest/aten__add" -name '*.py' | sort | head -n 1 | xargs -I{} cp {} agent/kernel.py
cat >agent/run <<\END
#!/bin/sh
# The program gets its task on stdin and in its folder.
cat >task && cmp task TASK.md || exit 9
here=$(dirname "$0")
sed 's/mask=/mask=False \& /' "$here/kernel.py" >kernel.py
kgb-verify && exit 8
cp "$here/kernel.py" kernel.py
kgb-verify || exit 7
echo "model $KGB_MODEL at $OPENAI_BASE_URL and $ANTHROPIC_BASE_URL"
END
chmod +x agent/run

run() {
	rm -rf runs
	KGB_COMMAND_BIN=$1 kgb-agent add -m command --skip-verify --json -vv >out.json 2>log
}

test_expect_success 'a folder with an executable `run` is a method: refused once, then passed' '
	test_expect_code 0 run ./agent &&
	operator ".status == \"generated\" and (.verify_calls | map(.status)) == [\"failed\", \"passed\"]" &&
	operator ".attempts[-1] | .end == \"agent.ok\" and .kernel_source == \"verified\"" &&
	test_grep "model claude-sonnet-4-5 at http://127.0.0.1:8123/v1 and http://127.0.0.1:8123$" runs/*/attempts/aten__add/001/stdout.jsonl
'
test_expect_success 'with -vv each judge and each step of an attempt has a line' '
	test_grep "debug: aten::add: attempt 1 is running" log &&
	test "$(grep -c "debug: judge [0-9]* started on cpu: check of .*/verdicts/00[12].py" log)" -eq 2 &&
	test_grep "debug: judge [0-9]* ended: status 0, signal 0" log &&
	test_grep "debug: aten::add: attempt 1 is done" log
'
test_expect_success 'the program counts no tokens, and the result reports that' '
	operator ".tokens | .agree == null and .cli.output_tokens == null and .gateway.output_tokens == 0"
'
test_expect_success 'a single file is a program, too; its exit status decides' '
	printf "#!/bin/sh\necho x >kernel.py\nexit 3\n" >one && chmod +x one &&
	test_expect_code 0 run "$TRASH/one" &&
	operator ".attempts[-1] | .end == \"agent.crashed\" and .exit_code == 3 and .kernel_source == \"file\""
'
test_expect_success 'the program may use any protocol with the model, only with its token' '
	cat >speaks <<-\END &&
	#!/usr/bin/python3
	import json, os, urllib.request, urllib.error
	base = os.environ["ANTHROPIC_BASE_URL"]
	def post(path, body, key=os.environ["OPENAI_API_KEY"]):
	    request = urllib.request.Request(base + path, json.dumps(body).encode(), {"content-type": "application/json", "authorization": "Bearer " + key})
	    try:
	        return json.load(urllib.request.urlopen(request))
	    except urllib.error.HTTPError as error:
	        return error.code
	hello = [{"role": "user", "content": "hi"}]
	assert post("/v1/messages", {"model": "m", "messages": hello})["usage"]["output_tokens"] > 0
	assert post("/v1/chat/completions", {"model": "m", "messages": hello})["usage"]["completion_tokens"] > 0
	assert post("/v1/responses", {"model": "m", "input": "hi"})["usage"]["output_tokens"] > 0
	assert post("/v1/messages/count_tokens", {"model": "m", "messages": hello})["input_tokens"] > 0
	assert post("/v1/responses", {"model": "m", "input": "hi"}, "other") == 401
	assert post("/v1/files", {}) == 404
	open("kernel.py", "w").write("x = 1\n")
	END
	chmod +x speaks &&
	test_expect_code 0 run "$TRASH/speaks" &&
	operator ".attempts[-1] | .end == \"agent.ok\" and .model_requests == 3 and (.sandbox.probes | map(.what) | sort) == [\"endpoint\", \"token\"]"
'
test_expect_success 'without a key, a program that asks no model works on any operator; one that asks is refused' '
	printf "#!/bin/sh\necho x >kernel.py\n" >own && chmod +x own &&
	KGB_COMMAND_BIN=$TRASH/own kgb-agent all -m command --dry-run >out 2>log && test_equal 210 "$(grep -c "^  [a-z0-9]*::" out)" operators &&
	test_no_grep "has kernels for" log &&
	mkdir few && cp -R "$KGB_TEST_SOURCE_DIR/datasets" "$KGB_TEST_SOURCE_DIR/methods" few/ && ln -s "$KGB_TEST_SOURCE_DIR/verify" few/ &&
	rm -rf runs && KGB_COMMAND_BIN=$TRASH/own kgb-agent matmul,vllm13::moe_sum -m command --skip-verify --json >out.json 2>log &&
	jq -e "[.operators[].status] == [\"generated\", \"generated\"]" out.json &&
	cat >asks <<-\END &&
	#!/usr/bin/python3
	import os, urllib.request, urllib.error
	request = urllib.request.Request(os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages", b"{\"model\":\"m\",\"messages\":[]}",
	    {"content-type": "application/json", "x-api-key": os.environ["ANTHROPIC_API_KEY"]})
	try:
	    urllib.request.urlopen(request)
	except urllib.error.HTTPError as error:
	    open("kernel.py", "wb").write(b"# %d %s" % (error.code, error.read()))
	END
	chmod +x asks && rm -rf runs && KGB_DATA_DIR=$TRASH/few KGB_COMMAND_BIN=$TRASH/asks kgb-agent matmul -m command --skip-verify >out 2>log &&
	test_grep "^# 402 .*offline: the built-in model has no script for this operator" runs/*/kernels/aten__matmul.py
'
test_expect_success 'a method may give the task as a file only' '
	mkdir data && cp -R "$KGB_TEST_SOURCE_DIR/datasets" "$KGB_TEST_SOURCE_DIR/methods" data/ && ln -s "$KGB_TEST_SOURCE_DIR/verify" data/ &&
	cp -R data/methods/data/command data/methods/data/by_file &&
	sed -i "s/^name: command/name: by_file/; s/^argv:.*/prompt: file\\nargv: [\"{{session_id}}\"]\\nfiles: {a\\/b: hello}/" data/methods/data/by_file/method.yaml &&
	printf "#!/bin/sh\ncat >seen; grep -q aten::add TASK.md && cat ~/a/b >>seen && echo \" \$#\" >>seen; echo x >kernel.py\n" >taker && chmod +x taker &&
	rm -rf runs && KGB_DATA_DIR=$TRASH/data KGB_COMMAND_BIN=$TRASH/taker kgb-agent add -m by_file --skip-verify >out 2>log || { cat log; false; }
	test_equal "hello 1" "$(cat runs/*/attempts/aten__add/001/ws/seen)" "what it saw"
'
test_expect_success 'without a program, or with one that is not there, nothing is created and the remedy is named' '
	rm -rf runs &&
	test_expect_code 4 kgb-agent add -m command 2>err && test_grep "set paths.command (or KGB_COMMAND_BIN)" err &&
	test_expect_code 4 env KGB_COMMAND_BIN="$TRASH/nothing" kgb-agent add -m command 2>err && test_grep "is not at .*/nothing" err &&
	test_expect_code 4 env KGB_COMMAND_BIN="$TRASH" kgb-agent add -m command 2>err && test_grep "is not at .*/run" err &&
	test_expect_code 4 env KGB_CODEX_BIN="$TRASH/nothing" kgb-agent add -m normal_codex 2>err && test_grep "kgb-agent setup codex" err &&
	test ! -e runs
'
test_expect_success 'an untested version causes a warning with its number; the query runs inside the sandbox' '
	cat >old <<-\END &&
	#!/bin/sh
	[ "$1" = --version ] || exit 1
	if [ -e "$TRASH" ] || [ -w /usr ] || [ "$HOME" != /home/agent ]; then echo codex-cli 6.6.6; else echo codex-cli 0.1.2; fi
	END
	chmod +x old &&
	test_expect_code 1 env KGB_CODEX_BIN="$TRASH/old" kgb-agent add -m normal_codex --skip-verify 2>err >out || { cat err; false; }
	test_grep "Codex 0.1.2 is not among the tested versions (0.169.0)" err
'
test_done
