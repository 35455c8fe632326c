/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "agent/answers/show.h"
#include "agent/report/common.h"

static void write_cost(struct kgb_jsonw *w, const char *key, const struct kgb_spent *spent)
{
	kgb_jsonw_key(w, key);
	kgb_jsonw_put(w, "{attempts: %zu, model_requests: %+ld", spent->n_attempts,
		      spent->n_requests);
	kgb_report__usage(w, "gateway", &spent->gateway);
	kgb_report__usage(w, "cli", &spent->cli);
	kgb_jsonw_put(w, "cost_usd: %g}", kgb_report__dollars(spent->cost_nanos));
}

static void write_attempt(struct kgb_jsonw *w, const struct kgb_attempt_state *attempt)
{
	kgb_jsonw_key(w, "attempt");
	if (!attempt) {
		kgb_jsonw_null(w);
		return;
	}
	kgb_jsonw_put(w, "{number: %d, dir: %s, end: %s, start_time: %s, end_time: %s, error: %s",
		      attempt->number, attempt->dir,
		      attempt->ended_ms < 0 ? NULL : kgb_agent_end_code(attempt->end),
		      KGB_REPORT_TIME(attempt->started_ms), KGB_REPORT_TIME(attempt->ended_ms),
		      attempt->error_message);
	kgb_jsonw_put(w, "rounds: [");
	for (size_t i = 0; i < attempt->n_rounds; i++) {
		const struct kgb_round *round = &attempt->rounds[i];
		kgb_jsonw_put(
			w,
			"{number: %d, end: %s, code: %s, status: %s, version: %d, kept: %hhd, "
			"summary: %s}",
			round->number, round->end, round->code,
			round->has_verdict ? round->verdict.status : NULL, round->check,
			round->kept, round->summary);
	}
	kgb_jsonw_put(w, "]}");
}

static void write_text(struct kgb_jsonw *w, const char *key, const char *path,
		       const struct kgb_buf *text)
{
	kgb_jsonw_key(w, key);
	if (text->len == 0) {
		kgb_jsonw_null(w);
		return;
	}
	kgb_jsonw_put(w, "{path: %s, text: %.*s}", path, (int)text->len, text->ptr);
}

static int write_draft(struct kgb_jsonw *w, const struct kgb_show *show, size_t index,
		       struct kgb_err *err)
{
	const struct kgb_draft *draft = &show->drafts.list.items[index];
	const struct kgb_verdict_summary *verdict = &draft->verdict;
	KGB_AUTO(buf) struct kgb_buf changes = KGB_BUF_INIT(0);
	double similarity;
	if (kgb_show_diff(show, index, &changes, &similarity, err) < 0)
		return -1;
	kgb_jsonw_put(w,
		      "{number: %d, round: %d, status: %s, code: %s, message: %s, reached: %s, "
		      "report: %s",
		      draft->number, draft->round, verdict->status, verdict->code, verdict->message,
		      verdict->reached, draft->report);
	kgb_jsonw_put(w, "time: %s, cost_usd: %g",
		      KGB_REPORT_TIME(draft->call     ? draft->call->time_ms
				      : draft->sample ? draft->sample->time_ms
						      : -1),
		      kgb_report__dollars(draft->call     ? draft->call->spent.cost_nanos
					  : draft->sample ? draft->sample->cost_nanos
							  : -1));
	kgb_jsonw_put(w, "kernel_sha256: %s", *draft->sha256 ? draft->sha256 : NULL);
	write_text(w, "kernel", draft->path, &draft->kernel);
	kgb_jsonw_put(w, "diff: %s, similarity: %g}", changes.len > 0 ? changes.ptr : NULL,
		      similarity);
	return 0;
}

static int write_drafts(struct kgb_jsonw *w, const struct kgb_show *show, struct kgb_err *err)
{
	kgb_jsonw_put(w, "versions: [");
	for (size_t i = 0; i < show->drafts.list.n; i++)
		if (write_draft(w, show, i, err) < 0)
			return -1;
	kgb_jsonw_array_end(w);
	return 0;
}

int kgb_show_json(const struct kgb_show *show, struct kgb_buf *out, struct kgb_err *err)
{
	const struct kgb_op_state *op = show->op;
	const struct kgb_maker maker = kgb_op_maker(op);
	struct kgb_spent spent = KGB_SPENT_NOTHING, lost = KGB_SPENT_NOTHING;
	const int last = kgb_show_final_draft(show);
	struct kgb_jsonw w;
	kgb_op_spent(op, &spent);
	kgb_op_lost(op, &lost);
	kgb_jsonw_init(&w, out, 2);
	kgb_jsonw_put(&w, "{schema: 'kgb.show/1', run: %s, path: %s, pruned: %hhd, operator: %s",
		      show->record.dir.name, show->record.dir.path, show->record.is_pruned,
		      op->name);
	kgb_jsonw_put(&w, "status: %s, code: %s, message: %s, speedup: %g",
		      kgb_op_status_name(op->status), op->error_code, op->error_message,
		      op->has_verdict && op->verdict.speedup > 0 ? op->verdict.speedup
								 : (double)NAN);
	kgb_jsonw_put(&w, "method: %s, model: %s, gateway: %s", maker.method, maker.model,
		      maker.gateway_mode);
	kgb_jsonw_kcount(&w, "sample", show->sample > 0 ? show->sample : -1);
	write_attempt(&w, show->attempt);
	write_cost(&w, "cost", &spent);
	write_cost(&w, "lost", &lost);
	write_text(&w, "prompt", show->prompt_path, &show->prompt);
	kgb_jsonw_key(&w, "table");
	kgb_table_json(&show->versions, &w);
	if (write_drafts(&w, show, err) < 0)
		return -1;
	write_text(&w, "kernel", show->kernel_path, &show->kernel);
	kgb_jsonw_kcount(&w, "kernel_version", last > 0 ? last : -1);
	kgb_jsonw_object_end(&w);
	kgb_buf_addc(out, '\n');
	return 0;
}
