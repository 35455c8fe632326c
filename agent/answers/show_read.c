/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "agent/answers/show.h"
#include "agent/report/common.h"
#include "base/limits.h"
#include "base/system/fs.h"
#include "sandbox/workspace/diff.h"

static const struct kgb_table_column columns[] = {
	{"sample", "sample", NULL},       {"version", "version", NULL},
	{"round", "round", NULL},         {"status", "status", NULL},
	{"code", "code", NULL},           {"reached", "reached", NULL},
	{"passed_tests", "passed", NULL}, {"total_tests", NULL, NULL},
	{"speedup", "speedup", NULL},     {"speedup_low", NULL, NULL},
	{"speedup_high", NULL, NULL},     {"tokens", "tokens", NULL},
	{"cost_usd", "USD", NULL},        {"same_as", "same as", NULL},
	{"kernel_sha256", NULL, NULL},
};

static void add_number(struct kgb_table *table, int number)
{
	kgb_table_number(table, number > 0 ? number : (double)NAN, "%d", number);
}

static void add_count(struct kgb_table *table, int64_t n)
{
	char text[32];
	kgb_table_number(table, n < 0 ? (double)NAN : (double)n, "%s",
			 kgb_report__count(n, text, sizeof(text)));
}

static void add_verdict(struct kgb_table *table, const struct kgb_verdict_summary *verdict)
{
	const double total = verdict->status && verdict->total_tests >= 0
				     ? (double)verdict->total_tests
				     : (double)NAN;
	const double passed = isnan(total) ? total : (double)verdict->passed_tests;
	const double speedup = verdict->speedup > 0 ? verdict->speedup : (double)NAN;
	kgb_table_word(table, verdict->status);
	kgb_table_word(table, verdict->code);
	kgb_table_word(table, verdict->reached);
	kgb_table_number(table, passed, "%.0f/%.0f", passed, total);
	kgb_table_number(table, total, "%.0f", total);
	kgb_table_number(table, speedup, "%.3g", speedup);
	kgb_table_number(table, verdict->speedup_low > 0 ? verdict->speedup_low : (double)NAN, "%g",
			 verdict->speedup_low);
	kgb_table_number(table, verdict->speedup_high > 0 ? verdict->speedup_high : (double)NAN,
			 "%g", verdict->speedup_high);
}

/** A check of an attempt. */
static void add_draft(struct kgb_table *table, const struct kgb_draft *draft)
{
	const struct kgb_verify_call *call = draft->call;
	const double dollars = call ? kgb_report__dollars(call->spent.cost_nanos) : (double)NAN;
	kgb_table_word(table, NULL);
	add_number(table, draft->number);
	add_number(table, draft->round);
	add_verdict(table, &draft->verdict);
	add_count(table, call ? kgb_usage_total(&call->spent.gateway) : -1);
	kgb_table_number(table, dollars, "%.4f", dollars);
	kgb_table_word(table, NULL);
	kgb_table_word(table, *draft->sha256 ? draft->sha256 : NULL);
}

/** An answer of a bare model, by its final verdict. */
static void add_sample(struct kgb_table *table, const struct kgb_run_state *state,
		       const struct kgb_sample *sample)
{
	const double dollars = kgb_report__dollars(sample->cost_nanos);
	const struct kgb_verdict_summary verdict = {
		.status = sample->has_verdict     ? sample->status
			  : sample->check_status  ? sample->check_status
			  : sample->kernel_sha256 ? NULL
						  : "no kernel",
		.code = sample->has_verdict ? sample->code : sample->check_code,
		.reached = sample->reached,
		.speedup = sample->speedup,
		.total_tests = -1,
	};
	add_number(table, sample->number);
	kgb_table_word(table, NULL);
	add_number(table, state->n_rounds > 0 ? sample->round : 0);
	add_verdict(table, &verdict);
	add_count(table, kgb_usage_total(&sample->usage));
	kgb_table_number(table, dollars, "%.4f", dollars);
	add_number(table, sample->same_as);
	kgb_table_word(table, sample->kernel_sha256);
}

/** An attempt has one prompt, or one for each round, of which the first has the task. */
static int read_prompt(struct kgb_show *show, struct kgb_err *err)
{
	static const char *const names[] = {"prompt.md", "rounds/001/prompt.md"};
	for (size_t i = 0; show->attempt && show->prompt.len == 0 && i < KGB_ARRAY_LEN(names);
	     i++) {
		kgb_free(show->prompt_path);
		show->prompt_path = kgb_path_join(show->attempt->dir, names[i]);
		if (kgb_run_record_read(show->record.dir.fd, show->prompt_path, KGB_LIMIT_PROMPT,
					&show->prompt, err) < 0)
			return -1;
	}
	return 0;
}

int kgb_show_read(struct kgb_show *show, struct kgb_err *err)
{
	const struct kgb_op_state *op = show->op;
	show->versions = (struct kgb_table)KGB_TABLE(columns);
	show->prompt = (struct kgb_buf)KGB_BUF_INIT(0);
	show->kernel = (struct kgb_buf)KGB_BUF_INIT(0);
	show->kernel_path = kgb_xasprintf("kernels/%s.py", op->safe_name);
	if (kgb_run_record_read(show->record.dir.fd, show->kernel_path, KGB_LIMIT_KERNEL,
				&show->kernel, err) < 0 ||
	    read_prompt(show, err) < 0)
		return -1;
	if (show->sample > 0) {
		for (size_t i = 0; i < op->n_samples; i++)
			add_sample(&show->versions, &show->record.state, &op->samples[i]);
		return kgb_drafts_of_sample(&show->drafts, show->record.dir.fd, op, show->sample,
					    err);
	}
	if (show->attempt &&
	    kgb_drafts_of_attempt(&show->drafts, show->record.dir.fd, op, show->attempt, err) < 0)
		return -1;
	KGB_VEC_FOREACH(draft, &show->drafts.list)
		add_draft(&show->versions, draft);
	return 0;
}

void kgb_show_release(struct kgb_show *show)
{
	kgb_drafts_release(&show->drafts);
	kgb_table_release(&show->versions);
	if (show->kernel_path) {
		kgb_buf_release(&show->prompt);
		kgb_buf_release(&show->kernel);
	}
	kgb_free(show->prompt_path);
	kgb_free(show->kernel_path);
	kgb_run_record_release(&show->record);
}

int kgb_show_diff(const struct kgb_show *show, size_t draft, struct kgb_buf *out,
		  double *similarity, struct kgb_err *err)
{
	struct kgb_text_diff count;
	const struct kgb_draft *drafts = show->drafts.list.items;
	*similarity = (double)NAN;
	if (draft == 0 || drafts[draft].kernel.len == 0 || drafts[draft - 1].kernel.len == 0)
		return 0;
	if (kgb_text_diff(&drafts[draft - 1].kernel, &drafts[draft].kernel, out, &count, err) < 0)
		return -1;
	*similarity = kgb_text_diff_similarity(&count);
	return 0;
}

int kgb_show_final_draft(const struct kgb_show *show)
{
	int number = 0;
	KGB_VEC_FOREACH(draft, &show->drafts.list)
		if (show->kernel.len > 0 && draft->kernel.len == show->kernel.len &&
		    memcmp(draft->kernel.ptr, show->kernel.ptr, show->kernel.len) == 0)
			number = draft->number;
	return number;
}
