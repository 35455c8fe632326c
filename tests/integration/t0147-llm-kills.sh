#!/bin/sh
# SPDX-License-Identifier: MIT
test_description='a bare model and 100 times kill -9 at random moments: what the server got is what the ledger says'
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"
test_require sandbox torch jq

test_start_api
seed=${KGB_TEST_SEED:-$$}
printf "# seed %s\n" "$seed"
export seed
# shellcheck disable=SC2154 # test_start_api sets api
test_expect_success '100 kills of a run of 1,400 samples' '
	OPENAI_API_KEY=key OPENAI_BASE_URL=$api/jitter/kills python3 "$KGB_TEST_SOURCE_DIR/tests/helpers/kill_run.py" \
		100 "$seed" "$TRASH/port.jitter-kills" killed \
		kgb-agent neg,silu -m llm --model-name m --samples 700 --set model.seed=1 --concurrency 4 --skip-verify --runs-dir killed \
		-- kgb-agent resume --runs-dir killed
	jq -e "[.operators[] | .samples | .answered, .judged] == [700, 700, 700, 700]" killed/*/results.json
'
test_done
