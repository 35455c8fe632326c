#!/bin/sh
# SPDX-License-Identifier: MIT
test_description='a rehearsal of a series with the real CLIs and the offline mixture: honest kernels pass, no other does'
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"
test_require sandbox torch claude codex opencode

seed=${KGB_TEST_SEED:-$(date +%s)}

test_expect_success "6 operators, five methods, twice, of seed $seed: verdicts are those of the kernels that were drawn" '
	PYTHONDONTWRITEBYTECODE=1 python3 "$KGB_TEST_SOURCE_DIR/tests/bench/rehearse.py" --operators 6 \
		--methods llm,naive_cc,naive_opencode,normal_codex,autokernel --seed "$((seed % 1000000))"
'
test_expect_success 'two runs of a method draw differently, and compare takes the series' '
	cd rehearsal/series_*
	for method in naive_cc naive_opencode normal_codex; do
		cat "$method-1"/kernels/* >first && cat "$method-2"/kernels/* >second
		cmp -s first second && return 1
	done
	kgb-agent compare naive_cc-1 naive_cc-2 --runs-dir . >out && test_grep OFFLINE out
'

test_done
