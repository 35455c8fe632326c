/* SPDX-License-Identifier: MIT */
/** \file
 * The offline model's script in memory, and the texts made from it. Private to offline*.c and their
 * tests.
 */
#ifndef KGB_SANDBOX_OFFLINE_OFFLINE_SCRIPT_H
#define KGB_SANDBOX_OFFLINE_OFFLINE_SCRIPT_H

#include <stddef.h>

#include "base/formats/decode.h"
#include "base/mem.h"
#include "sandbox/offline/offline.h"

enum kgb_offline_expect {
	KGB_OFFLINE_EXPECT_ANY,
	KGB_OFFLINE_EXPECT_PASSED,
	KGB_OFFLINE_EXPECT_FAILED
};

struct kgb_offline_turn {
	const char *say;
	const char *write;
	const char *run;
	const char *describe;
	int expect; /* enum kgb_offline_expect */
	const char *otherwise;
	int64_t weight; /* of session "sample": how often it is drawn, against the others */
};

struct kgb_offline_turns {
	const struct kgb_offline_turn *items; /* arena */
	size_t n;
};

struct kgb_offline_session {
	struct kgb_arena arena;
	enum kgb_offline_variant variant;
	const char *operator_name;
	const char *note;
	const char *bug;
	const char *fix;
	struct kgb_field_map kernels;
	struct kgb_offline_turns verify;
	struct kgb_offline_turns oneshot;
	struct kgb_offline_turns again;
	struct kgb_offline_turns sample;
};

/** Whether a line of `report` starts with `word` (blanks before it do not count). */
bool kgb_offline__has_line(const char *report, const char *word);
/** `text` with its placeholders filled in; `report` is the last tool result. Fails on an unknown
 * placeholder. */
KGB_MUST_CHECK int kgb_offline__render(const struct kgb_offline_session *session, const char *text,
				       const char *report, struct kgb_buf *out,
				       struct kgb_err *err);
/** The shell command that a turn runs; nothing for a turn without one. */
void kgb_offline__command(const struct kgb_offline_session *session,
			  const struct kgb_offline_turn *turn, struct kgb_buf *out);

#endif
