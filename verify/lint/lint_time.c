/* SPDX-License-Identifier: MIT */
/** \file
 * How long what candidates are measured against takes on the benchmarks: a first figure for the
 * table of operators, by the reference's own clock. Verdicts are timed another way
 * (docs/timing.md).
 */
#include "base/time.h"
#include "verify/lint/lint_parts.h"

enum { ANSWER_MS = 120 * 1000, NS_PER_MS = 1000 * 1000 };

static int time_case(struct kgb_lint *lint, const struct kgb_case *c, struct kgb_err *err)
{
	struct kgb_reference *reference = lint->lane.reference;
	const int64_t deadline_ms = kgb_mono_ms() + ANSWER_MS;
	KGB_AUTO(free) struct kgb_wire_reply *reply = kgb_xmalloc(sizeof(*reply));
	struct kgb_case_data data;

	kgb_lane_fill(&lint->lane, &data, c, 0);
	data.is_timed = true;
	pthread_rwlock_wrlock(lint->options->quiet);
	int rc = kgb_case_data_ask(&data, &reference->worker, &reference->memory, false,
				   deadline_ms, err);
	bool answered = rc == 0 && kgb_worker_wait(&reference->worker, deadline_ms, reply);
	pthread_rwlock_unlock(lint->options->quiet);
	kgb_case_data_release(&data);
	if (rc < 0)
		return -1;
	if (!answered)
		return kgb_fail(err, KGB_ERR_FAILED, "case '%s': its process ended", c->name);
	if (reply->status != KGB_WIRE_OK)
		return kgb_fail(err, KGB_ERR_FAILED, "case '%s': %.300s", c->name, reply->text);
	kgb_strv_addf(&lint->report->medians, "%s %.6f", c->name, (double)reply->value / NS_PER_MS);
	return 0;
}

int kgb_lint_time(struct kgb_lint *lint, struct kgb_err *err)
{
	const struct kgb_cases *cases = &lint->judge.cases;

	for (size_t i = cases->n; i < cases->n + cases->n_benchmarks; i++)
		if (time_case(lint, &cases->items[i], err) < 0)
			return -1;
	return 0;
}
