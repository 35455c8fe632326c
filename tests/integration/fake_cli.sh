# SPDX-License-Identifier: MIT
# shellcheck shell=sh
#
# A program in the place of Claude Code, for misbehaviour that the real one does not show on demand. It runs inside the
# sandbox, in the workspace.

cat >preamble <<\EOF
#!/bin/sh
[ "${1:-}" != --version ] || { echo 0.0.0; exit 0; }
say() { printf '%s\n' "$1"; }
say '{"type":"system","subtype":"init","session_id":"s","claude_code_version":"0"}'
result() {
	say '{"type":"result","subtype":"success","is_error":false,"terminal_reason":"completed","num_turns":1,"result":"'"$1"'","permission_denials":[],"modelUsage":{}}'
}
EOF

# The CLI is this preamble and the shell commands on stdin.
fake_cli() {
	cat preamble - >cli
	chmod +x cli
}
# Body of a CLI: the Python program on stdin, then a clean end. Its name is that of no other test, for test_no_process.
python_cli() {
	{
		echo "cat >\$TMPDIR/attack-$$.py <<\KGB_EOF"
		cat
		echo KGB_EOF
		echo "python3 -u \$TMPDIR/attack-$$.py >seen 2>&1 </dev/null"
		echo 'result done'
	} | fake_cli
}
# The attacks of such a program report lines "name: refused" or "name: SUCCEEDED ...".
refused() { test_grep "^$1: refused" seen && test_no_grep "^$1: SUCCEEDED" seen; }
