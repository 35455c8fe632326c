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
# After a stream that breaks off OpenCode asks again, silently and without end: the gateway ends the attempt.
test_cli_bad_days <<\END
silent.stall.ok            agent.ok               2  3   5
malformed.error_event.cut  provider.transient     4  3  10
401                        provider.auth          1  1   0
404                        provider.unknown_model 1  1   0
429_later                  provider.transient     2  1   0
529                        provider.transient     2  2   0
END
test_done
