#!/bin/sh
# SPDX-License-Identifier: MIT
test_description='the real Claude Code CLI on bad days of its API (good days: t0200)'
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/integration/cli.sh
. "$KGB_TEST_SOURCE_DIR/tests/integration/cli.sh"
test_require claude sandbox torch jq
export cli=cc

# After malformed events Claude Code asks again for an answer in one piece, which this API does not give. More days are in t0150.
test_cli_bad_days <<\END
ok           agent.ok            1  1   5
403          provider.auth       1  1   0
429          provider.transient  1  2   0
429_later    provider.transient  1  1   0
500          provider.transient  1  2   0
malformed    provider.transient  2  2  10
cut          provider.transient  4  3   0
error_event  provider.transient  2  2   0
END
test_done
