#!/bin/sh
# SPDX-License-Identifier: MIT
test_description='completion in real shells, and the man page'
. "$(dirname "$0")/lib.sh"

shells=$KGB_TEST_SOURCE_DIR/agent/cli/shell

# in_bash WORD...: bash's completions of the last word, one a line.
in_bash() {
	bash --norc -c '
		. "$0/kgb-agent.bash"
		COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
		_kgb_agent
		printf "%s\n" "${COMPREPLY[@]}"' "$shells" "$@" >out
}

test_expect_success 'bash completes commands, operators, lists of operators, methods and options' '
	in_bash kgb-agent do && test_equal doctor "$(cat out)" commands &&
	in_bash kgb-agent silu && test_grep "^silu$" out &&
	in_bash kgb-agent add,sil && test_equal add,silu "$(cat out)" list &&
	in_bash kgb-agent add -m normal_o && test_equal normal_opencode "$(cat out)" method &&
	in_bash kgb-agent verify --o && test_equal --op "$(cat out)" option &&
	in_bash kgb-agent verify --op rms_nor && test_grep "^rms_norm$" out &&
	in_bash kgb-agent dataset "" && test_grep "^lint$" out && test_no_grep "^add$" out
'

test_expect_success 'runs are completed where a run is wanted' '
	mkdir -p runs/normal_cc_x_1 runs/other && : >runs/normal_cc_x_1/journal.jsonl &&
	in_bash kgb-agent resume "" && test_equal normal_cc_x_1 "$(cat out)" runs &&
	in_bash kgb-agent report other "" && test_equal normal_cc_x_1 "$(cat out)" runs &&
	in_bash kgb-agent --skip-gen --run n && test_equal normal_cc_x_1 "$(cat out)" runs &&
	mkdir -p runs/series_x/naive_cc-1 && : >runs/series_x/series.json && : >runs/series_x/naive_cc-1/journal.jsonl &&
	in_bash kgb-agent resume s && test_equal "series_x series_x/naive_cc-1" "$(sort out | xargs)" "a series and its runs" &&
	in_bash kgb-agent list --failed-of other,n && test_equal other,normal_cc_x_1 "$(cat out)" "several runs" &&
	in_bash kgb-agent -m naive_cc,normal_o && test_equal naive_cc,normal_opencode "$(cat out)" "several methods"
'

test_expect_success 'where a file is wanted, nothing is offered: the shell does that' '
	in_bash kgb-agent verify ke && test_equal "" "$(cat out)" files &&
	in_bash kgb-agent add --config c && test_equal "" "$(cat out)" files
'

if command -v fish >/dev/null; then
	test_expect_success 'fish completes methods and operators' '
		fish --no-config -c "source $shells/kgb-agent.fish; complete -C \"kgb-agent -m normal_o\"" >out &&
		test_grep "^normal_opencode" out &&
		fish --no-config -c "source $shells/kgb-agent.fish; complete -C \"kgb-agent add,sil\"" >out &&
		test_grep "^add,silu" out
	'
else
	test_skip 'fish completes methods and operators' 'no fish'
fi

if command -v zsh >/dev/null; then
	test_expect_success 'the file for zsh is whole and offers the words of the program' '
		zsh -n "$shells/_kgb-agent" &&
		zsh -f -c "compadd() { shift 2; print -l -- \$@ }; words=(kgb-agent -m normal_o) CURRENT=3; . $shells/_kgb-agent" >out &&
		test_equal normal_opencode "$(cat out)" zsh &&
		zsh -f -c "compadd() { shift 2; print -l -- \$@ }; words=(kgb-agent add,sil) CURRENT=2; . $shells/_kgb-agent" >out &&
		test_equal add,silu "$(cat out)" zsh
	'
else
	test_skip 'the file for zsh is whole and offers the words of the program' 'no zsh'
fi

test_expect_success 'the man page renders without a warning and has every command and option' '
	kgb-agent __man >kgb-agent.1 &&
	groff -ww -man -Tutf8 kgb-agent.1 >page 2>warnings && test_equal "" "$(cat warnings)" warnings &&
	col -b <page >text &&
	for command in run verify list dataset doctor config rebuild resume replay setup; do
		test_grep "^   $command" text || return 1
	done &&
	kgb-agent run --help | sed -n "s/.*\(--[a-z-]*\) .*/\1/p" | sort -u >options &&
	while read -r option; do
		grep -q -e "$option" text || { echo "not in the man page: $option" && return 1; }
	done <options
'

test_done
