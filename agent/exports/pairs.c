/* SPDX-License-Identifier: MIT */
#include "agent/exports/pairs.h"

#include <math.h>

#include "agent/evidence/drafts.h"
#include "agent/report/common.h"
#include "agent/store/chains.h"
#include "base/formats/jsonw.h"
#include "sandbox/workspace/diff.h"

/** The source of the drafts of a list. */
struct source {
	const struct kgb_run_record *record;
	const struct kgb_op_state *op;
	const struct kgb_attempt_state *attempt;
	int sample; /* 0: of an attempt */
};

bool kgb_gain_of(const struct kgb_verdict_summary *before, const struct kgb_verdict_summary *after,
		 struct kgb_gain *out)
{
	const bool are_timed = before->speedup_low > 0 && after->speedup_low > 0 &&
			       before->speedup_high >= before->speedup &&
			       after->speedup_high >= after->speedup;
	if (!are_timed || !kgb_str_eq(before->baseline, after->baseline) ||
	    !kgb_str_eq(before->gpu, after->gpu))
		return false;
	const double ratio = log(after->speedup / before->speedup);
	const double down = hypot(log(after->speedup / after->speedup_low),
				  log(before->speedup_high / before->speedup));
	const double up = hypot(log(after->speedup_high / after->speedup),
				log(before->speedup / before->speedup_low));
	*out = (struct kgb_gain){exp(ratio), exp(ratio - down), exp(ratio + up)};
	return true;
}

/** Whether a version is known to be right: it passed, and no final verdict on the same kernel
 * contradicts that. */
static bool is_right(const struct source *source, const struct kgb_draft *draft)
{
	const struct kgb_op_state *op = source->op;
	if (!kgb_draft_passed(draft) || draft->kernel.len == 0)
		return false;
	if (draft->sample && draft->sample->has_verdict &&
	    !kgb_str_eq(draft->sample->status, "passed"))
		return false;
	return !(op->has_verdict && kgb_str_eq(op->verdict.kernel_sha256, draft->sha256) &&
		 !kgb_str_eq(op->verdict.status, "passed"));
}

/** Whether a version was judged and shown to be wrong. A fault of the machine shows nothing about
 * it. */
static bool is_wrong(const struct kgb_draft *draft)
{
	return draft->report && draft->kernel.len > 0 && !kgb_draft_passed(draft) &&
	       !kgb_str_eq(draft->verdict.status, "infra_error");
}

/* ---- writing ---- */

static double positive(double value)
{
	return value > 0 ? value : (double)NAN;
}

static void write_side(struct kgb_jsonw *w, const char *key, const struct kgb_draft *draft)
{
	const struct kgb_verdict_summary *verdict = &draft->verdict;
	kgb_jsonw_key(w, key);
	kgb_jsonw_put(w, "{version: %d, round: %d, status: %s, code: %s, message: %s, reached: %s",
		      draft->number, draft->round, verdict->status, verdict->code, verdict->message,
		      verdict->reached);
	kgb_jsonw_put(w, "passed_tests: %+ld, total_tests: %+ld, failing_case: %s",
		      verdict->passed_tests, verdict->total_tests, verdict->failing_case);
	kgb_jsonw_put(w, "speedup: %g, speedup_low: %g, speedup_high: %g, gpu: %s, baseline: %s",
		      positive(verdict->speedup), positive(verdict->speedup_low),
		      positive(verdict->speedup_high), verdict->gpu, verdict->baseline);
	kgb_jsonw_put(w, "report: %s, kernel_sha256: %s, kernel: %.*s}", draft->report,
		      draft->sha256, (int)draft->kernel.len, draft->kernel.ptr);
}

/** The model's tokens between two checks, by the gateway's count. */
static void write_spent(struct kgb_jsonw *w, const struct kgb_drafts *drafts, size_t before,
			size_t after)
{
	const struct kgb_draft *a = &drafts->list.items[before], *b = &drafts->list.items[after];
	int64_t tokens = -1, nanos = -1;
	if (a->call && b->call) {
		const int64_t from = kgb_usage_total(&a->call->spent.gateway);
		const int64_t to = kgb_usage_total(&b->call->spent.gateway);
		tokens = from >= 0 && to >= from ? to - from : -1;
		nanos = a->call->spent.cost_nanos >= 0 && b->call->spent.cost_nanos >= 0
				? b->call->spent.cost_nanos - a->call->spent.cost_nanos
				: -1;
	}
	for (size_t i = before + 1; b->sample && i <= after; i++) {
		const struct kgb_sample *sample = drafts->list.items[i].sample;
		const int64_t part = kgb_usage_total(&sample->usage);
		tokens = part < 0 || (i > before + 1 && tokens < 0) ? -1
			 : tokens < 0                               ? part
								    : tokens + part;
		nanos = sample->cost_nanos < 0 || (i > before + 1 && nanos < 0) ? -1
			: nanos < 0                                             ? sample->cost_nanos
				    : nanos + sample->cost_nanos;
	}
	kgb_jsonw_put(w, "tokens: %+ld, cost_usd: %g", tokens, kgb_report__dollars(nanos));
}

static int write_pair(const struct source *source, const struct kgb_drafts *drafts, size_t before,
		      size_t after, const struct kgb_gain *gain, struct kgb_buf *out,
		      struct kgb_err *err)
{
	const struct kgb_draft *a = &drafts->list.items[before], *b = &drafts->list.items[after];
	const struct kgb_attempt_state *attempt = source->attempt;
	KGB_AUTO(buf) struct kgb_buf changes = KGB_BUF_INIT(0);
	struct kgb_text_diff count;
	struct kgb_jsonw w;
	if (kgb_text_diff(&a->kernel, &b->kernel, &changes, &count, err) < 0)
		return -1;
	kgb_jsonw_init(&w, out, 0);
	kgb_jsonw_put(&w, "{schema: 'kgb.pair/1', kind: %s, run: %s, operator: %s, source: %s",
		      gain ? "optimization" : "correction", source->record->dir.name,
		      source->op->name, source->op->source);
	kgb_jsonw_put(&w, "category: %s, spec_sha256: %s, method: %s, model: %s, gateway: %s",
		      source->op->category, source->op->spec_sha256, attempt->maker.method,
		      attempt->maker.model, attempt->maker.gateway_mode);
	kgb_jsonw_put(&w, "attempt: %d", attempt->number);
	kgb_jsonw_kcount(&w, "sample", source->sample > 0 ? source->sample : -1);
	kgb_jsonw_put(&w, "prompt_sha256: %s", attempt->prompt_sha256);
	write_side(&w, "before", a);
	write_side(&w, "after", b);
	kgb_jsonw_put(&w, "diff: %.*s, similarity: %g", (int)changes.len, changes.ptr,
		      kgb_text_diff_similarity(&count));
	kgb_jsonw_key(&w, "gain");
	if (gain)
		kgb_jsonw_put(&w, "{ratio: %g, low: %g, high: %g}", gain->ratio, gain->low,
			      gain->high);
	else
		kgb_jsonw_null(&w);
	write_spent(&w, drafts, before, after);
	kgb_jsonw_object_end(&w);
	kgb_buf_addc(out, '\n');
	return 0;
}

/* ---- finding ---- */

/** The next version after one that makes a pair with it; the number of drafts: there is none. */
static size_t find_partner(const struct source *source, const struct kgb_drafts *drafts,
			   size_t before, struct kgb_gain *gain, bool *is_gain)
{
	const struct kgb_draft *a = &drafts->list.items[before];
	const bool wrong = is_wrong(a), right = is_right(source, a);
	*is_gain = right;
	for (size_t i = before + 1; i < drafts->list.n; i++) {
		const struct kgb_draft *b = &drafts->list.items[i];
		if (!is_right(source, b))
			continue;
		if (wrong ||
		    (right && kgb_gain_of(&a->verdict, &b->verdict, gain) && gain->low > 1))
			return i;
	}
	return drafts->list.n;
}

static int add_pairs(const struct source *source, const struct kgb_drafts *drafts,
		     struct kgb_buf *out, size_t *n, struct kgb_err *err)
{
	for (size_t i = 0; i < drafts->list.n; i++) {
		struct kgb_gain gain;
		bool is_gain;
		const size_t partner = find_partner(source, drafts, i, &gain, &is_gain);
		if (partner == drafts->list.n)
			continue;
		if (write_pair(source, drafts, i, partner, is_gain ? &gain : NULL, out, err) < 0)
			return -1;
		++*n;
	}
	return 0;
}

static int pairs_of_samples(const struct kgb_run_record *record, const struct kgb_op_state *op,
			    struct kgb_buf *out, size_t *n, struct kgb_err *err)
{
	for (size_t i = 0; i < op->n_samples; i++) {
		const struct kgb_sample *first = &op->samples[i];
		KGB_AUTO(drafts) struct kgb_drafts drafts = {0};
		/* A chain of one round has nothing to pair. */
		if (first->round != 1 || !kgb_op_sample(op, first->number, 2) ||
		    first->attempt < 1 || (size_t)first->attempt > op->n_attempts)
			continue;
		const struct source source = {record, op, &op->attempts[first->attempt - 1],
					      first->number};
		if (kgb_drafts_of_sample(&drafts, record->dir.fd, op, first->number, err) < 0 ||
		    add_pairs(&source, &drafts, out, n, err) < 0)
			return -1;
	}
	return 0;
}

int kgb_pairs_of(const struct kgb_run_record *record, const struct kgb_op_state *op,
		 struct kgb_buf *out, size_t *n, struct kgb_err *err)
{
	if (op->n_samples > 0)
		return pairs_of_samples(record, op, out, n, err);
	for (size_t i = 0; i < op->n_attempts; i++) {
		const struct source source = {record, op, &op->attempts[i], 0};
		KGB_AUTO(drafts) struct kgb_drafts drafts = {0};
		if (kgb_drafts_of_attempt(&drafts, record->dir.fd, op, &op->attempts[i], err) < 0 ||
		    add_pairs(&source, &drafts, out, n, err) < 0)
			return -1;
	}
	return 0;
}
