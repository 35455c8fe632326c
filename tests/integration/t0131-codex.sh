#!/bin/sh
# SPDX-License-Identifier: MIT
test_description='the real Codex CLI: sandboxed, driven by the offline model, and on bad days of its API'
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/integration/cli.sh
. "$KGB_TEST_SOURCE_DIR/tests/integration/cli.sh"
test_require codex sandbox torch jq
export cli=codex

test_cli_works
test_cli_bad_days <<\END
silent.stall.ok  agent.ok               2  3  5
malformed        agent.ok               1  1  5
401              provider.auth          3  3  0
402              provider.credit        3  3  0
403              provider.auth          3  3  0
404              provider.unknown_model 3  3  0
429              provider.transient     1  2  0
429_later        provider.transient     1  1  0
500              provider.transient     2  2  0
529              provider.transient     2  2  0
cut              provider.network       3  3  0
error_event      provider.transient     1  1  5
gone             provider.transient     2  2  0
END
test_done
