/* SPDX-License-Identifier: MIT */
/** \file
 * Shared by the tests that start real sandboxes: skipping where none can be had, and running the
 * guest program.
 */
#ifndef KGB_TESTS_UNIT_SANDBOX_SANDBOX_TEST_H
#define KGB_TESTS_UNIT_SANDBOX_SANDBOX_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/str.h"
#include "sandbox/isolation/bwrap.h"
#include "sandbox/isolation/status.h"

#define GUEST "/opt/guest"
#define LAUNCHER KGB_TEST_BIN_DIR "/kgb-launch"

/** The call must return 0; else print the error and fail. */
#define assert_ok(call, err)                                        \
	do {                                                        \
		if ((call) != 0) {                                  \
			print_error("%s: %s\n", #call, (err)->msg); \
			fail();                                     \
		}                                                   \
	} while (0)

/** cmocka group setup: probes once. Each test that needs a sandbox calls need_sandbox(), which
 * skips, or fails when KGB_TESTS_MUST_RUN names "sandbox". */
void need_sandbox(void);

/** A base policy with the guest program at GUEST and its arguments (NULL-terminated). */
void guest_policy(struct kgb_policy *policy, const char *const *args);

struct guest_run {
	struct kgb_buf out; /* stdout and stderr */
	int wait_status; /* of the launcher */
	struct kgb_sandbox_status status;
};
/** The same under a confinement (NULL: none). */
void run_guest_confined(const struct kgb_policy *policy, const struct kgb_confinement *confinement,
			struct guest_run *run);
/** Run a policy to its end; fails the test after two minutes. Release with guest_run_release. */
void run_guest(const struct kgb_policy *policy, struct guest_run *run);
void guest_run_release(struct guest_run *run);
/** Run the guest under guest_policy; its output as a malloc'ed string. */
char *guest_output(const char *const *args);

/** Wait until a pipe holds a line that starts with `text`. */
void wait_for_text(int fd, const char *text);

#endif
