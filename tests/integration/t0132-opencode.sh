#!/bin/sh
# SPDX-License-Identifier: MIT
test_description='the real OpenCode CLI: sandboxed, driven by the offline model, and on bad days of its API'
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/integration/cli.sh
. "$KGB_TEST_SOURCE_DIR/tests/integration/cli.sh"
test_require opencode sandbox torch jq
export cli=opencode

test_cli_works
start_fake_api
test_cli_bad_day ok agent.ok 1
test_cli_bad_day 401 provider.auth 4
test_cli_bad_day 404 provider.unknown_model 4
# It asks again without a word and without an end: the gateway ends it.
test_cli_bad_day cut provider.transient 4
test_done
