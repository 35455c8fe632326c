#!/bin/sh
# SPDX-License-Identifier: MIT
test_description='a judge in trouble: tried once more, never believed'
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"
test_require sandbox torch jq

# A CLI that leaves a file, and a judge beside kgb-agent that acts by the file `script`.
cat >cli <<\EOF
#!/bin/sh
[ "${1:-}" != --version ] || { echo 0.0.0; exit 0; }
echo '{"type":"system","subtype":"init","session_id":"s","claude_code_version":"0"}'
echo x = 1 >/ws/kernel.py
echo '{"type":"result","subtype":"success","is_error":false,"terminal_reason":"completed","num_turns":1,"result":"done","permission_denials":[],"modelUsage":{}}'
EOF
mkdir own
cp "$KGB_TEST_BIN_DIR"/kgb-* own/
cat >own/kgb-judge <<\EOF
#!/bin/sh
[ "$1" = verify ] || exit 1
here=$(dirname "$0")/..
echo >>"$here/judged"
say() {
	printf '{"schema":"kgb.verdict/1","status":"%s","code":%s,"message":"m","total_tests":1,"passed_tests":1,"failed_tests":0}\n' "$@"
}
infra() { say infra_error '"infra.test"'; }
first=$(($(wc -l <"$here/judged") == 1))
. "$here/script"
EOF
chmod +x cli own/kgb-judge

# twice ACT CODE STATUS: the judge acts so, the run ends with CODE, its operator with STATUS, after two calls of the judge.
twice() {
	printf '%s\n' "$1" >script
	rm -rf runs judged
	KGB_DATA_DIR=$KGB_TEST_SOURCE_DIR KGB_DEPS_DIR=$KGB_TEST_SOURCE_DIR/.deps KGB_CLAUDE_BIN=$TRASH/cli test_expect_code "$2" \
		own/kgb-agent add -m normal_cc --json >out.json 2>log || { cat log; return 1; }
	jq -e ".operators[\"aten::add\"].status == \"$3\"" out.json &&
		test_equal 2 "$(wc -l <judged)" "times judged"
}

test_expect_success 'its own trouble is not its last word' '
	twice "if [ \$first = 1 ]; then infra; else say passed null; fi" 0 passed &&
	twice infra 4 infra_error
'
test_expect_success 'a judge that fails, dies or stays silent passes no kernel' '
	twice "say passed null; exit 3" 4 infra_error &&
	twice "say passed null; kill -9 \$\$" 4 infra_error &&
	twice "exit 0" 4 infra_error
'
test_expect_success 'the output of a judge must be a verdict' '
	twice "echo {} >&3" 4 infra_error &&
	twice "echo passed >&3" 4 infra_error &&
	twice "say fine null" 4 infra_error
'
test_done
