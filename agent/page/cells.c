/* SPDX-License-Identifier: MIT */
#include "agent/page/cells.h"

#include <fcntl.h>
#include <math.h>

#include "base/system/fs.h"

/* Most bytes of texts of all cells together: a page of 210 operators x 4 runs has room for these
 * beside kernels. */
#define STEPS_MAX 10000
#define MESSAGES_MAX (400u << 10)

/** Most of these bytes for one cell. */
struct share {
	size_t n_steps, message_bytes;
};

static struct share share_of_cell(const struct kgb_collected *c)
{
	const size_t n = c->n_cells > 0 ? c->n_cells : 1;
	const size_t steps = STEPS_MAX / n, bytes = MESSAGES_MAX / n;
	return (struct share){steps < 4     ? 4
			      : steps > 100 ? 100
					    : steps,
			      bytes < 100    ? 100
			      : bytes > 2000 ? 2000
					     : bytes};
}

/** Text of an agent or of the judge, cut at a character. */
static void write_text(struct kgb_jsonw *w, const char *key, const char *text, size_t max)
{
	kgb_jsonw_key(w, key);
	if (text && strlen(text) > max)
		kgb_jsonw_put(w, "%.*s", (int)kgb_utf8_valid(text, max), text);
	else
		kgb_jsonw_str(w, text);
}

/** The last steps, of which the verdict is one. */
static void write_steps(struct kgb_jsonw *w, const struct kgb_history *history, size_t max)
{
	const size_t n = history->steps.n;
	kgb_jsonw_put(w, "n_steps: %zu, steps: [", n);
	for (size_t i = n > max ? n - max : 0; i < n; i++) {
		const struct kgb_history_step *step = &history->steps.items[i];
		kgb_jsonw_put(w, "[%s, %+d, %s, %s, %s, %g, %g, %g, %g]",
			      kgb_history_step_name(step->kind),
			      step->number > 0 ? step->number : -1, step->status, step->code,
			      step->reached, kgb_shortened(step->speedup),
			      step->cost[KGB_COST_TOKENS], kgb_shortened(step->cost[KGB_COST_USD]),
			      kgb_shortened(step->cost[KGB_COST_SECONDS]));
	}
	kgb_jsonw_array_end(w);
}

static void write_kernel(struct kgb_jsonw *w, int run_fd, const cJSON *node,
			 struct kgb_kernels *kernels)
{
	const char *path = kgb_json_str(node, "kernel", NULL);
	struct kgb_err err = KGB_ERR_INIT;
	size_t place = 0;
	kgb_jsonw_put(w, "kernel_path: %s", path);
	kgb_jsonw_key(w, "kernel");
	if (!path || !kernels) {
		kgb_jsonw_null(w);
	} else if (kgb_kernels_add(kernels, run_fd, path, &place, &err) < 0) {
		kgb_jsonw_null(w);
		kgb_jsonw_kstr(w, "kernel_missing", err.msg);
	} else {
		kgb_jsonw_i64(w, (int64_t)place);
	}
}

static void write_cell(struct kgb_jsonw *w, const struct kgb_collected *c, size_t r, size_t i,
		       bool with_history, int run_fd, struct kgb_kernels *kernels)
{
	const struct kgb_collected_run *run = &c->runs.items[r];
	const struct kgb_op_row *op = &run->row->ops.items[i];
	const cJSON *node = run->nodes[i];
	const struct share share = share_of_cell(c);
	kgb_jsonw_put(
		w,
		"{run: %zu, operator: %zu, status: %s, code: %s, reached: %s, correct: %hhd, "
		"finished: %hhd, replaced: %hhd, speedup: %g, speedup_low: %g, speedup_high: %g, "
		"tokens: %g, usd: %g, seconds: %g, gpu: %s, tests: %g, passed_tests: %g, "
		"verdict: %s",
		r, run->places[i], op->status, op->code, op->reached, op->is_correct,
		op->is_finished, op->is_replaced, kgb_shortened(op->speedup),
		kgb_shortened(kgb_json_num(node, "speedup_low", (double)NAN)),
		kgb_shortened(kgb_json_num(node, "speedup_high", (double)NAN)), op->tokens,
		kgb_shortened(op->dollars), kgb_shortened(op->agent_seconds), op->gpu,
		kgb_json_num(node, "total_tests", (double)NAN),
		kgb_json_num(node, "passed_tests", (double)NAN),
		kgb_json_str(node, "verdict", NULL));
	write_text(w, "message", kgb_json_str(node, "error", NULL), share.message_bytes);
	write_text(w, "failing_case", kgb_json_str(node, "failing_case", NULL), 200);
	write_kernel(w, run_fd, node, kernels);
	write_steps(w, &run->histories[i], with_history ? share.n_steps : 0);
	kgb_jsonw_object_end(w);
}

void kgb_cells_write(struct kgb_jsonw *w, const struct kgb_collected *c, bool with_histories,
		     struct kgb_kernels *kernels)
{
	kgb_jsonw_put(w, "cells: [");
	for (size_t r = 0; r < c->runs.n; r++) {
		struct kgb_err ignored = KGB_ERR_INIT;
		KGB_AUTO(fd) int run_fd = -1;
		/* Without its folder a run has no kernels: each of its cells gets a note. */
		(void)!kgb_fs_opendir(AT_FDCWD, c->runs.items[r].row->path, &run_fd, &ignored);
		for (size_t i = 0; i < c->runs.items[r].row->ops.n; i++)
			write_cell(w, c, r, i, with_histories, run_fd, kernels);
	}
	kgb_jsonw_array_end(w);
}
