/* SPDX-License-Identifier: MIT */
/** \file
 * What the tests of agent/ share: a scratch directory, error assertions, a run with known events.
 */
#ifndef KGB_TESTS_UNIT_AGENT_TEST_H
#define KGB_TESTS_UNIT_AGENT_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/store/events.h"
#include "base/buf.h"
#include "base/err.h"

#define assert_ok(call)                                            \
	do {                                                       \
		struct kgb_err assert_err = KGB_ERR_INIT;          \
		struct kgb_err *err = &assert_err;                 \
		if ((call) < 0)                                    \
			fail_msg("%s: %s", #call, assert_err.msg); \
	} while (0)

/** The call fails with that kind and a message that contains `part`. */
#define assert_fails(call, wanted_kind, part)                                              \
	do {                                                                               \
		struct kgb_err assert_err = KGB_ERR_INIT;                                  \
		struct kgb_err *err = &assert_err;                                         \
		if ((call) >= 0)                                                           \
			fail_msg("%s: succeeded", #call);                                  \
		if (assert_err.kind != (wanted_kind) || !strstr(assert_err.msg, (part)))   \
			fail_msg("%s: '%s' (%s), wanted '%s' (%s)", #call, assert_err.msg, \
				 kgb_err_kind_name(assert_err.kind), (part),               \
				 kgb_err_kind_name(wanted_kind));                          \
	} while (0)

/** A new empty directory; the caller removes it with drop_scratch. */
struct scratch {
	char path[64];
	int fd;
};
void make_scratch(struct scratch *scratch);
void drop_scratch(struct scratch *scratch);

/** Feed a journal that tells of three operators (passed after a repair, cheated, timed out) and one
 * that never started, with fixed times, through the parser into the state. The text goes to *text
 * when that is not NULL. */
void fold_story(struct kgb_run_state *state, struct kgb_buf *text);
/** Append one journal line with its checksum. */
void add_line(struct kgb_buf *out, int64_t seq, const char *time, const char *type,
	      const char *data);

#endif
