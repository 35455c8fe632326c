#!/bin/sh
# SPDX-License-Identifier: MIT
test_description='the real Claude Code CLI on bad days of its API; what it does on good ones is in t0200'
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/integration/cli.sh
. "$KGB_TEST_SOURCE_DIR/tests/integration/cli.sh"
test_require claude sandbox torch jq
export cli=cc

start_fake_api
test_cli_bad_day ok agent.ok 1
test_cli_bad_day 401 provider.auth 4
test_cli_bad_day 404 provider.unknown_model 4
# It asks again, for an answer in one piece, which this API does not give.
test_cli_bad_day malformed provider.transient 4
test_cli_bad_day cut provider.transient 4
test_cli_bad_day error_event provider.transient 4
test_cli_bad_day 529 provider.transient 4
test_done
