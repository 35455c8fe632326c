# SPDX-License-Identifier: MIT
# shellcheck shell=sh
#
# Makes a program that stands in for Claude Code, for misbehaviour that the real CLI does not show on demand. It runs inside
# the sandbox, in the workspace.

cat >preamble <<\EOF
#!/bin/sh
[ "${1:-}" != --version ] || { echo 0.0.0; exit 0; }
say() { printf '%s\n' "$1"; }
say '{"type":"system","subtype":"init","session_id":"s","claude_code_version":"0"}'
result() {
	say '{"type":"result","subtype":"success","is_error":false,"terminal_reason":"completed","num_turns":1,"result":"'"$1"'","permission_denials":[],"modelUsage":{}}'
}
EOF

# Writes a CLI: this preamble and the shell commands on stdin.
fake_cli() {
	cat preamble - >cli
	chmod +x cli
}
# Writes the body of a CLI: the Python program on stdin, then a clean end. The program's name is unique to the test, for
# test_no_process.
python_cli() {
	{
		echo "cat >\$TMPDIR/attack-$$.py <<\KGB_EOF"
		cat
		echo KGB_EOF
		echo "python3 -u \$TMPDIR/attack-$$.py >seen 2>&1 </dev/null"
		echo 'result done'
	} | fake_cli
}
# Each attack of such a program reports a line "name: refused" or "name: SUCCEEDED ...".
refused() { test_grep "^$1: refused" seen && test_no_grep "^$1: SUCCEEDED" seen; }
