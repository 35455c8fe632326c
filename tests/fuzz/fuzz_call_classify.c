/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "tests/helpers/canonical_calls.h"
#include "verify/record/call_classify.h"
#include "verify/record/replay_plan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static enum kgb_owner owner_of(const struct kgb_image *image, const char *kernel,
			       const void *payload)
{
	(void)payload;
	KGB_ASSERT(kernel[0] != '\0');
	return (enum kgb_owner)(image->bytes[0] % KGB_N_OWNERS);
}
static const struct kgb_owners test_owners = {.find = owner_of};

/* A plan that was made can be read, is checked already, and making a plan of it changes nothing. */
static void check_plan(const struct kgb_recorded_call *capture)
{
	struct kgb_replay_plan plan, again;
	struct kgb_record record;
	struct kgb_err finding = KGB_ERR_INIT;
	struct kgb_err err = KGB_ERR_INIT;

	const bool good = check_call(capture, &test_owners, &finding);
	if (kgb_replay_plan_make(capture, &test_owners, &plan, &err) < 0) {
		KGB_ASSERT(!good && finding.msg[0] != '\0' && err.kind == KGB_ERR_INVALID);
		return;
	}
	KGB_ASSERT(good);
	KGB_ASSERT(kgb_record_parse(plan.record.ptr, plan.record.len, &record, &err) == 0);
	KGB_ASSERT(record.n_windows == 1 && record.windows[0].n_ops == plan.n_ops);
	struct kgb_recorded_call planned = *capture;
	planned.record = &record;
	planned.window = &record.windows[0];
	KGB_ASSERT(kgb_replay_plan_make(&planned, &test_owners, &again, &err) == 0);
	KGB_ASSERT(plan.record.len == again.record.len &&
		   memcmp(plan.record.ptr, again.record.ptr, plan.record.len) == 0);
	/* Names are what the plan has renumbered, so it is the same work as what it came from. */
	KGB_ASSERT(compare_calls(capture, &planned, &test_owners, &finding) == KGB_SAME);
	kgb_replay_plan_release(&again);
	kgb_replay_plan_release(&plan);
	kgb_record_release(&record);
}

static void check_classes(const struct kgb_recorded_call *captures, size_t n)
{
	struct kgb_classification classification;
	struct kgb_err finding = KGB_ERR_INIT;

	kgb_calls_classify(captures, n, &test_owners, &classification);
	KGB_ASSERT((classification.replay == KGB_REPLAY_REPLAYABLE) ==
		   (classification.reason.msg[0] == '\0'));
	KGB_ASSERT(n == 3 || !classification.prologue_ok);
	const enum kgb_difference there =
		compare_calls(&captures[n - 2], &captures[n - 1], &test_owners, &finding);
	const enum kgb_difference back =
		compare_calls(&captures[n - 1], &captures[n - 2], &test_owners, &finding);
	KGB_ASSERT(there == back);
	if (classification.replay == KGB_REPLAY_REPLAYABLE)
		KGB_ASSERT(check_call(&captures[n - 1], &test_owners, &finding));
}

/* Windows of any record, with arguments in places that depend on their numbers. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kgb_recorded_call captures[3];
	struct kgb_arena_place places[3][2];
	struct kgb_record record;
	struct kgb_err finding = KGB_ERR_INIT;
	struct kgb_err err = KGB_ERR_INIT;

	if (kgb_record_parse(data, size, &record, &err) < 0)
		return 0;
	const size_t n = record.n_windows < 3 ? record.n_windows : 3;
	for (size_t i = 0; i < n; i++) {
		const uint64_t shift = (record.windows[i].number % 16) * 256;
		places[i][0] = (struct kgb_arena_place){"x", KGB_ARENA_ADDRESS + shift, 1024};
		places[i][1] =
			(struct kgb_arena_place){"out", KGB_ARENA_ADDRESS + shift + 2048, 1024};
		captures[i] = (struct kgb_recorded_call){
			.record = &record,
			.window = &record.windows[i],
			.places = places[i],
			.n_places = 2,
			.arena_bytes = 16384,
			.foreign_ok = record.windows[i].number % 2 == 1,
		};
		check_plan(&captures[i]);
		KGB_ASSERT(compare_calls(&captures[i], &captures[i], &test_owners, &finding) ==
			   KGB_SAME);
	}
	if (n >= 2)
		check_classes(captures, n);
	kgb_record_release(&record);
	return 0;
}
