/* SPDX-License-Identifier: MIT */
#include "agent/watch/round_sums.h"

static void add_known(int64_t *sum, int64_t part)
{
	if (part >= 0)
		*sum = (*sum > 0 ? *sum : 0) + part;
}

static int64_t larger(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/** Add the report's numbers, but none of its texts. */
static void add_report(struct kgb_report *sum, const struct kgb_report *part)
{
	kgb_rows_add(kgb_report_rows, sum, part);
	sum->n_tool_calls += part->n_tool_calls;
	sum->n_api_retries += part->n_api_retries;
	sum->n_permission_denials += part->n_permission_denials;
}

static void add_result(struct kgb_sandbox_child_result *sum,
		       const struct kgb_sandbox_child_result *part)
{
	/* One process that may have survived is enough. */
	if (sum->survivors == 0 || part->survivors > 0)
		sum->survivors = part->survivors;
	sum->killed = sum->killed || part->killed;
	sum->wall_ms += part->wall_ms;
	add_known(&sum->user_ms, part->user_ms);
	add_known(&sum->sys_ms, part->sys_ms);
	sum->max_rss_bytes = larger(sum->max_rss_bytes, part->max_rss_bytes);
}

static void add_probe(struct kgb_sandbox_status *sum, const struct kgb_sandbox_probe *probe)
{
	size_t i = 0;
	while (i < sum->n_probes && !(kgb_str_eq(sum->probes[i].name, probe->name) &&
				      kgb_str_eq(sum->probes[i].detail, probe->detail)))
		i++;
	if (i == KGB_ARRAY_LEN(sum->probes))
		return;
	if (i < sum->n_probes)
		sum->probes[i].count += probe->count;
	else
		sum->probes[sum->n_probes++] = *probe;
}

/** Sums, largest values, and the worst values of conditions that must hold in all rounds. */
static void add_status(struct kgb_sandbox_status *sum, const struct kgb_sandbox_status *part)
{
	sum->tree_empty = sum->tree_empty && part->tree_empty;
	if (sum->cgroup_empty < 0 || part->cgroup_empty == 0)
		sum->cgroup_empty = part->cgroup_empty;
	sum->peak_memory_bytes = larger(sum->peak_memory_bytes, part->peak_memory_bytes);
	sum->peak_tasks = larger(sum->peak_tasks, part->peak_tasks);
	sum->n_oom_kills += part->n_oom_kills;
	for (size_t i = 0; i < part->n_probes; i++)
		add_probe(sum, &part->probes[i]);
}

void kgb_round_sums_init(struct kgb_round_sums *sums)
{
	*sums = (struct kgb_round_sums){
		.report = {.usage = KGB_USAGE_UNKNOWN, .n_turns = -1, .cost_nanos = -1}};
}

void kgb_round_sums_begin_round(struct kgb_round_sums *sums, const struct kgb_report *last)
{
	sums->n_begun++;
	sums->earlier = sums->totals;
	sums->round = (struct kgb_totals){0};
	if (sums->n_ended > 0)
		add_report(&sums->report, last);
}

void kgb_round_sums_set_round(struct kgb_round_sums *sums, const struct kgb_totals *round)
{
	sums->round = *round;
	sums->totals = sums->earlier;
	kgb_totals_add(&sums->totals, round);
}

void kgb_round_sums_end_round(struct kgb_round_sums *sums, const struct kgb_sandbox_status *status,
			      const struct kgb_sandbox_child_result *result)
{
	struct kgb_sandbox_child_result earlier = sums->result;
	sums->result = *result;
	if (sums->n_ended++ == 0) {
		sums->status = *status;
		sums->status.lines = (struct kgb_lines){0}; /* the launch's own */
		return;
	}
	add_status(&sums->status, status);
	add_result(&sums->result, &earlier);
}

void kgb_round_sums_complete(const struct kgb_round_sums *sums, struct kgb_report *report)
{
	add_report(report, &sums->report);
}
