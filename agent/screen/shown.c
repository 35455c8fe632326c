/* SPDX-License-Identifier: MIT */
#include "agent/screen/shown.h"

bool kgb_shown_run_lives(const struct kgb_shown_run *run)
{
	return !run->state->finished && !run->is_cut_off;
}

const char *kgb_shown_run_status(const struct kgb_shown_run *run)
{
	return run->state->finished ? kgb_run_end_name(run->state->end)
	       : run->is_cut_off    ? "cut off"
				    : "running";
}

/** The larger, the more it counts for the whole. */
static int weight_of(const struct kgb_shown_run *run)
{
	return run->state->finished ? (int)run->state->end
	       : run->is_cut_off    ? (int)KGB_RUN_N_ENDS
				    : (int)KGB_RUN_N_ENDS + 1;
}

static const struct kgb_shown_run *heaviest(const struct kgb_shown *shown)
{
	const struct kgb_shown_run *most = &shown->runs[0];
	for (size_t i = 1; i < shown->n; i++)
		if (weight_of(&shown->runs[i]) > weight_of(most))
			most = &shown->runs[i];
	return most;
}

bool kgb_shown_lives(const struct kgb_shown *shown)
{
	return kgb_shown_run_lives(heaviest(shown));
}

const char *kgb_shown_status(const struct kgb_shown *shown)
{
	return kgb_shown_run_status(heaviest(shown));
}

int64_t kgb_shown_started_ms(const struct kgb_shown *shown)
{
	int64_t last_ms = 0;
	for (size_t i = 0; i < shown->n; i++)
		if (shown->runs[i].state->started_ms > last_ms)
			last_ms = shown->runs[i].state->started_ms;
	return last_ms;
}

int64_t kgb_shown_until_ms(const struct kgb_shown *shown, int64_t now_ms)
{
	int64_t last_ms = 0;
	if (kgb_shown_lives(shown))
		return now_ms;
	for (size_t i = 0; i < shown->n; i++) {
		const struct kgb_run_state *state = shown->runs[i].state;
		const int64_t until_ms = state->finished ? state->ended_ms : state->updated_ms;
		last_ms = until_ms > last_ms ? until_ms : last_ms;
	}
	return last_ms;
}

static void add_counts(struct kgb_run_counts *sum, const struct kgb_run_counts *part)
{
	sum->total += part->total;
	sum->pending += part->pending;
	sum->running += part->running;
	sum->completed += part->completed;
	sum->failed += part->failed;
	sum->generated += part->generated;
	sum->core += part->core;
	sum->replaced += part->replaced;
	for (int i = 0; i < KGB_OP_N_STATUSES; i++)
		sum->by_status[i] += part->by_status[i];
}

void kgb_shown_count(const struct kgb_shown *shown, struct kgb_run_counts *out)
{
	*out = (struct kgb_run_counts){0};
	for (size_t i = 0; i < shown->n; i++) {
		struct kgb_run_counts counts;
		kgb_run_state_count(shown->runs[i].state, &counts);
		add_counts(out, &counts);
	}
}

void kgb_shown_run_spent(const struct kgb_shown_run *run, struct kgb_spent *out)
{
	struct kgb_spent lost;
	kgb_run_spent(run->state, out, &lost);
	kgb_spent_add(out, &lost);
}
