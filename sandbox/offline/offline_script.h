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

/** Kernels that an answer can have. */
enum kgb_offline_pool {
	KGB_OFFLINE_NO_KERNEL,
	KGB_OFFLINE_HONEST, /* of tests/honest */
	KGB_OFFLINE_WRONG, /* of tests/redteam: with a wrong result */
	KGB_OFFLINE_CHEAT, /* of tests/redteam: by a forbidden way */
	KGB_OFFLINE_N_POOLS
};
struct kgb_offline_kernels {
	const char **texts; /* arena; without their last line breaks */
	size_t n;
};

/* The name of the kernel that a seed has drawn. */
#define KGB_OFFLINE_DRAWN "drawn"

/** A way to spoil an honest kernel. */
struct kgb_offline_mistake {
	const char *name;
	const char *bug; /* the fault, as a clause */
	const char *fix; /* the correction in a right kernel */
	const char *replace, *by; /* each `replace` becomes `by`; NULL: none */
	const char *append; /* lines at the end; NULL: none */
};

struct kgb_offline_turn {
	const char *say;
	const char *write;
	const char *run;
	const char *describe;
	int expect; /* enum kgb_offline_expect */
	const char *otherwise;
	/* Of session "sample": */
	int64_t weight; /* relative frequency of the answer */
	int kernel; /* enum kgb_offline_pool */
	const char *mistake; /* that spoils an honest kernel; NULL: none */
	int64_t cut; /* percent of the answer that arrive; 0: all of it */
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
	struct kgb_offline_kernels pools[KGB_OFFLINE_N_POOLS];
	const struct kgb_offline_mistake *mistakes; /* arena */
	size_t n_mistakes;
	struct kgb_offline_turns verify;
	struct kgb_offline_turns oneshot;
	struct kgb_offline_turns again;
	struct kgb_offline_turns sample;
	struct kgb_offline_turns drawn;
	const char *seed; /* arena; draws the kernel of all answers; NULL: the script's are shown */
};

/** Whether a line of `report` starts with `word` (blanks before it do not count). */
bool kgb_offline__has_line(const char *report, const char *word);
/** Quotable texts besides the script. */
struct kgb_offline_quoted {
	const char *report; /* the last tool result */
	const char *kernel; /* that was drawn for this answer; NULL: none */
	const char *bug; /* of the mistake in it; NULL: that of the script */
};
/** `text` with its placeholders filled in. Fails on an unknown placeholder. */
KGB_MUST_CHECK int kgb_offline__render(const struct kgb_offline_session *session, const char *text,
				       const struct kgb_offline_quoted *quoted, struct kgb_buf *out,
				       struct kgb_err *err);
/** The shell command that a turn runs; nothing for a turn without one. */
void kgb_offline__command(const struct kgb_offline_session *session,
			  const struct kgb_offline_turn *turn, struct kgb_buf *out);

/* offline_kernels.c */
/** Read the operator's kernels of the source tree's tests into the session's pools. An operator
 * without any gets empty pools. */
KGB_MUST_CHECK int kgb_offline__read_kernels(struct kgb_offline_session *session,
					     const struct kgb_offline_subject *subject,
					     struct kgb_err *err);
/** Full name of the operator of a kernel of these pools, from its header; in the arena; NULL: the
 * header has none. */
const char *kgb_offline__operator_of(struct kgb_offline_session *session, const char *kernel);

/* offline_draw.c */
const struct kgb_offline_mistake *
kgb_offline__find_mistake(const struct kgb_offline_session *session, const char *name);
/** Whether the mistake changes this kernel. */
bool kgb_offline__applies(const struct kgb_offline_mistake *mistake, const char *kernel);
/** The kernel with the mistake; malloc'ed. */
char *kgb_offline__spoil(const struct kgb_offline_mistake *mistake, const char *kernel);
/** Append the text of the answer that a seed draws. Returns whether it is cut short. */
bool kgb_offline__say_sample(const struct kgb_offline_session *session, const char *seed,
			     struct kgb_buf *out);
/** The kernel of the answer that a seed draws, cut short as the answer would be; malloc'ed; NULL:
 * the answer has none. */
char *kgb_offline__draw_kernel(const struct kgb_offline_session *session, const char *seed);

#endif
