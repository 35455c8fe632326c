/* SPDX-License-Identifier: MIT */
#include "agent/evidence/drafts.h"

#include "agent/evidence/record.h"
#include "agent/store/chains.h"
#include "agent/store/rundir.h"
#include "base/hash.h"
#include "base/limits.h"
#include "base/system/fs.h"
#include "verify/lane/report.h"

static int read_kernel(struct kgb_draft *draft, int run_fd, struct kgb_err *err)
{
	if (kgb_run_record_read(run_fd, draft->path, KGB_LIMIT_KERNEL, &draft->kernel, err) < 0)
		return -1;
	if (draft->kernel.len > 0)
		kgb_sha256_hex(draft->kernel.ptr, draft->kernel.len, draft->sha256);
	return 0;
}

static int read_verdict(struct kgb_draft *draft, int run_fd, const char *path, struct kgb_err *err)
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(KGB_LIMIT_VERDICT);
	KGB_AUTO(buf) struct kgb_buf report = KGB_BUF_INIT(KGB_LIMIT_VERDICT);
	if (kgb_run_record_read(run_fd, path, KGB_LIMIT_VERDICT, &text, err) < 0)
		return -1;
	if (text.len == 0)
		return 0;
	if (kgb_json_parse(text.ptr, text.len, &draft->document, err) < 0 ||
	    kgb_verdict_summarise(draft->document, &draft->verdict, err) < 0)
		return kgb_ctx(err, "%s", path);
	kgb_verdict_report(draft->document, &report);
	draft->report = kgb_buf_take(&report);
	return 0;
}

/** The round that ended first after a check, else the round that names the check. */
static int round_of(const struct kgb_attempt_state *attempt, const struct kgb_draft *draft)
{
	for (size_t i = 0; i < attempt->n_rounds; i++) {
		const struct kgb_round *round = &attempt->rounds[i];
		if (draft->call ? draft->call->time_ms <= round->time_ms
				: draft->number <= round->check)
			return round->number;
	}
	return attempt->n_rounds > 0 ? attempt->rounds[attempt->n_rounds - 1].number + 1 : 0;
}

static const struct kgb_verify_call *call_of(const struct kgb_op_state *op, int attempt,
					     const char *sha256,
					     const struct kgb_verify_call *after)
{
	for (size_t i = after ? (size_t)(after - op->calls) + 1 : 0; i < op->n_calls; i++)
		if (op->calls[i].attempt == attempt &&
		    kgb_str_eq(op->calls[i].verdict.kernel_sha256, sha256))
			return &op->calls[i];
	return NULL;
}

/** The last one, until the next. */
static struct kgb_draft *add(struct kgb_drafts *drafts, int number, const char *path)
{
	KGB_VEC_ADD(&drafts->list, (struct kgb_draft){.number = number,
						      .path = path,
						      .kernel = KGB_BUF_INIT(KGB_LIMIT_KERNEL)});
	return &drafts->list.items[drafts->list.n - 1];
}

int kgb_drafts_of_attempt(struct kgb_drafts *out, int run_fd, const struct kgb_op_state *op,
			  const struct kgb_attempt_state *attempt, struct kgb_err *err)
{
	const struct kgb_verify_call *last_call = NULL;
	for (int number = 1;; number++) {
		char *path =
			kgb_arena_printf(&out->arena, "%s/verdicts/%03d.py", attempt->dir, number);
		KGB_AUTO(free)
		char *verdict = kgb_xasprintf("%s/verdicts/%03d.json", attempt->dir, number);
		if (!kgb_fs_exists(run_fd, path) && !kgb_fs_exists(run_fd, verdict))
			return 0;
		struct kgb_draft *draft = add(out, number, path);
		if (read_kernel(draft, run_fd, err) < 0 ||
		    read_verdict(draft, run_fd, verdict, err) < 0)
			return -1;
		draft->call = call_of(op, attempt->number, draft->verdict.kernel_sha256, last_call);
		last_call = draft->call ? draft->call : last_call;
		draft->round = round_of(attempt, draft);
	}
}

char *kgb_sample_stem(const char *safe_name, const struct kgb_sample *sample)
{
	KGB_AUTO(free) char *folder = kgb_rundir_attempt_rel(safe_name, sample->attempt);
	return sample->round > 1
		       ? kgb_xasprintf("%s/samples/%04d-%d", folder, sample->number, sample->round)
		       : kgb_xasprintf("%s/samples/%04d", folder, sample->number);
}

/** Its check if there was one, else its final verdict, or that of an earlier answer with the same
 * kernel. */
static char *verdict_path_of(int run_fd, const struct kgb_op_state *op,
			     const struct kgb_sample *sample)
{
	KGB_AUTO(free) char *stem = kgb_sample_stem(op->safe_name, sample);
	char *check = kgb_xasprintf("%s.check.json", stem);
	const struct kgb_sample *first = kgb_op_sample(op, sample->same_as, sample->same_as_round);
	if (kgb_fs_exists(run_fd, check))
		return check;
	kgb_free(check);
	KGB_AUTO(free)
	char *shared = first ? kgb_sample_stem(op->safe_name, first) : kgb_xstrdup(stem);
	return kgb_xasprintf("%s.json", shared);
}

int kgb_drafts_of_sample(struct kgb_drafts *out, int run_fd, const struct kgb_op_state *op,
			 int number, struct kgb_err *err)
{
	const struct kgb_sample *sample = NULL;
	for (int round = 1; (sample = kgb_op_sample(op, number, round)); round++) {
		KGB_AUTO(free) char *stem = kgb_sample_stem(op->safe_name, sample);
		KGB_AUTO(free) char *verdict = verdict_path_of(run_fd, op, sample);
		struct kgb_draft *draft =
			add(out, round, kgb_arena_printf(&out->arena, "%s.py", stem));
		draft->round = round;
		draft->sample = sample;
		if (read_kernel(draft, run_fd, err) < 0 ||
		    read_verdict(draft, run_fd, verdict, err) < 0)
			return -1;
	}
	return 0;
}

bool kgb_draft_passed(const struct kgb_draft *draft)
{
	return kgb_str_eq(draft->verdict.status, "passed");
}

void kgb_drafts_release(struct kgb_drafts *drafts)
{
	KGB_VEC_FOREACH(draft, &drafts->list) {
		kgb_buf_release(&draft->kernel);
		cJSON_Delete(draft->document);
		kgb_free(draft->report);
	}
	KGB_VEC_RELEASE(&drafts->list);
	kgb_arena_release(&drafts->arena);
}

void kgb_auto_drafts(struct kgb_drafts *drafts)
{
	kgb_drafts_release(drafts);
}
