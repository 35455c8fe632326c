/* SPDX-License-Identifier: MIT */
/** \file
 * The first step of judging by replay: three recorded calls of a case.
 */
#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/system/fs.h"
#include "base/system/memfd.h"
#include "base/time.h"
#include "verify/lane/candidate_check.h"
#include "verify/lane/case_judge.h"
#include "verify/replay/replay.h"

/* ---- recording ---- */

const char kgb_record_request[] = "{\"op\":\"record\",\"max_bytes\":67108864}";
_Static_assert(KGB_REPLAY_RECORD_BYTES == 67108864, "as the request says");

int kgb_replay_make_record_fd(struct kgb_lane *lane, struct kgb_err *err)
{
	return lane->replay->record_fd >= 0
		       ? 0
		       : kgb_memfd_empty("kgb-record", &lane->replay->record_fd, err);
}

static int start_record(struct kgb_lane *lane, struct kgb_failure *failure, struct kgb_err *err)
{
	KGB_AUTO(free) struct kgb_wire_reply *reply = kgb_xmalloc(sizeof(*reply));

	if (kgb_replay_make_record_fd(lane, err) < 0)
		return -1;
	return kgb_lane_ask_runner(lane, kgb_record_request, lane->replay->record_fd, reply,
				   failure, err);
}

int kgb_replay_copy(int fd, size_t limit, struct kgb_buf *out, struct kgb_err *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return kgb_fail_errno(err, errno, "fstat");
	if (st.st_size < 0 || (uint64_t)st.st_size > limit)
		return kgb_fail(err, KGB_ERR_LIMIT, "%lld bytes, more than %zu",
				(long long)st.st_size, limit);
	kgb_candidate_call_resize(out, (size_t)st.st_size);
	for (size_t at = 0; at < out->len;) {
		ssize_t n = pread(fd, out->ptr + at, out->len - at, (off_t)at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return kgb_fail(err, KGB_ERR_INVALID, "the file shrank while it was read");
		at += (size_t)n;
	}
	return 0;
}

static int refuse_record(struct kgb_lane *lane, const struct kgb_err *why,
			 struct kgb_failure *failure)
{
	return kgb_refuse(
		failure, KGB_CODE_VERIFY_RECORD,
		kgb_lane_text(lane, "the record of the kernel's work is damaged: %s", why->msg),
		"Leave the process's own records alone.");
}

static enum kgb_placement arrangement_of(const struct kgb_case *c, bool is_last)
{
	if (!kgb_replay_is_tight(c))
		return KGB_PLACED_LOOSE;
	return is_last ? KGB_PLACED_TIGHT : KGB_PLACED_ALIKE;
}

/* Repeat the call as often as a process that has run for a while. The call after that must still
 * launch the same work. 0, 1 *failure, -1 *err. */
static int repeat_call(struct kgb_lane *lane, const struct kgb_case_data *data,
		       struct kgb_failure *failure, struct kgb_err *err)
{
	const struct kgb_candidate_call_spec spec = {.repetition = KGB_REPLAY_CALLS,
						     .places = 1,
						     .arrangement = KGB_PLACED_ALIKE,
						     .only_records = lane->only_records,
						     .repeat_us =
							     kgb_case_repeat_us(lane, data->kase)};
	struct kgb_candidate_call call;

	if (spec.repeat_us == 0 || data->kase->mode == KGB_MODE_BENCHMARK ||
	    lane->judge->spec.launches != KGB_LAUNCHES_FIXED)
		return 0;
	int rc = kgb_candidate_call_measured(lane, data, &spec, &call, failure, err);
	kgb_candidate_call_release(&call);
	return rc;
}

/* Whether call i launches nothing. On the CPU, where a launch needs no compilation, the first one
 * does: it shows whether the host returns what its kernels have made. */
static bool only_records(const struct kgb_lane *lane, const struct kgb_case *c, int i)
{
	const bool launches_first = lane->judge->options->device == KGB_DEVICE_CPU;

	return lane->only_records && c->mode != KGB_MODE_BENCHMARK && !(launches_first && i == 0);
}

/* Make the three calls and check what the runner returns. Values are checked in replays only, where
 * nothing ran in the runner, and of benchmarks: comparing millions of elements takes longer than
 * computing them. */
static int make_calls(struct kgb_lane *lane, const struct kgb_case_data data[2],
		      struct kgb_candidate_call calls[KGB_REPLAY_CALLS],
		      struct kgb_failure *failure, struct kgb_err *err)
{
	for (int i = 0; i < KGB_REPLAY_CALLS; i++) {
		const struct kgb_case_data *d = &data[i == 1];
		const struct kgb_candidate_call_spec spec = {
			.repetition = i,
			.places = i == 2,
			.moves_some = i == 1,
			.arrangement = arrangement_of(d->kase, i == KGB_REPLAY_CALLS - 1),
			.window = (uint32_t)i + 1,
			.only_records = only_records(lane, d->kase, i),
			.keeps = i > 0};
		int rc = i == KGB_REPLAY_CALLS - 1 ? repeat_call(lane, d, failure, err) : 0;
		if (rc == 0)
			rc = kgb_candidate_call_measured(lane, d, &spec, &calls[i], failure, err);
		if (rc != 0)
			return rc;
		KGB_MEASURE(lane, KGB_PHASE_CHECK);
		if (!kgb_candidate_call_check(lane, d, &calls[i], failure))
			return 1;
		/* The runner still holds all earlier results. */
		for (int k = 0; k < i; k++)
			if (kgb_candidate_call_shares_memory(d, &calls[k], &calls[i]))
				return kgb_refuse_kept(failure);
		if (d->kase->mode == KGB_MODE_BENCHMARK || spec.only_records)
			continue;
		if (i != 1 && !kgb_candidate_call_check_values(lane, d, &calls[i], failure))
			return 1;
	}
	return 0;
}

static int record_calls(struct kgb_lane *lane, struct kgb_recorded *out,
			struct kgb_failure *failure, struct kgb_err *err)
{
	struct kgb_err why = KGB_ERR_INIT;
	int rc = start_record(lane, failure, err);

	if (rc == 0)
		rc = make_calls(lane, out->data, out->calls, failure, err);
	if (rc != 0)
		return rc;
	out->arena_bytes = lane->runner_memory.arena_bytes;
	if (kgb_replay_copy(lane->replay->record_fd, KGB_REPLAY_RECORD_BYTES, &out->bytes, &why) <
		    0 ||
	    kgb_record_parse(out->bytes.ptr, out->bytes.len, &out->record, &why) < 0)
		return refuse_record(lane, &why, failure);
	return 0;
}

int kgb_replay_record(struct kgb_lane *lane, const struct kgb_case_data *data,
		      struct kgb_recorded *out, struct kgb_failure *failure, struct kgb_err *err)
{
	*out = (struct kgb_recorded){
		.data = {*data},
		.calls = kgb_xcalloc(KGB_REPLAY_CALLS, sizeof(*out->calls)),
		.bytes = KGB_BUF_INIT(0),
	};
	kgb_lane_fill(lane, &out->data[1], data->kase, 1);
	/* If launches depend on data, the sizes of results may depend on data, too. */
	if (lane->judge->spec.launches == KGB_LAUNCHES_FIXED)
		kgb_case_data_shape(&out->data[1], data);
	else if (kgb_lane_fetch_truth(lane, &out->data[1], err) < 0)
		return -1;
	int rc = record_calls(lane, out, failure, err);
	for (int i = 0; i < KGB_REPLAY_CALLS; i++)
		kgb_candidate_call_release(
			&out->calls[i]); /* the values; places and replies stay */
	return rc;
}

void kgb_recorded_release(struct kgb_recorded *recorded)
{
	kgb_record_release(&recorded->record);
	kgb_buf_release(&recorded->bytes);
	kgb_case_data_release(&recorded->data[1]); /* the first one is borrowed */
	kgb_free(recorded->calls);
	recorded->calls = NULL;
}
