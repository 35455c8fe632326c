/* SPDX-License-Identifier: MIT */
#include "agent/report/samples.h"

#include <math.h>

#include "agent/report/common.h"
#include "agent/statistics/pass_at_k.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/system/fs.h"
#include "verify/lane/reached.h"

static const size_t ks[] = {1, 2, 5, 10};
static const double fast_ps[] = {1, 1.5, 2};
static const char *const rung_names[KGB_N_SAMPLE_RUNGS] = {"compiles", "core", "correct"};

/** Whether a sample got as far as a rung. A verdict of `cheated` shows none. */
static bool has_reached(const struct kgb_sample *sample, enum kgb_sample_rung rung)
{
	if (rung == KGB_SAMPLE_CORRECT)
		return sample->has_verdict && kgb_str_eq(sample->status, "passed");
	return sample->has_verdict &&
	       kgb_reached_find(sample->reached) >= kgb_reached_find(rung_names[rung]);
}

/** Counts of one operator's samples, or of all. */
struct tally {
	size_t asked, answered, judged, truncated, refused_to_answer, no_kernel, distinct, cheated;
	size_t right[KGB_N_SAMPLE_RUNGS];
	int64_t wall_ms;
	struct kgb_usage usage; /* of the samples */
	int64_t cost_nanos; /* of the samples whose cost is known; -1: of none */
	struct kgb_spent spent; /* for all that was asked */
	size_t solved; /* operators */
};
#define TALLY_INIT                                                                       \
	{                                                                                \
		.usage = KGB_USAGE_UNKNOWN, .cost_nanos = -1, .spent = KGB_SPENT_NOTHING \
	}

static void add_op(struct tally *tally, const struct kgb_run_state *state,
		   const struct kgb_op_state *op)
{
	tally->asked += (size_t)state->n_samples;
	tally->answered += op->n_samples;
	struct kgb_spent spent;
	kgb_op_spent(op, &spent);
	kgb_spent_add(&tally->spent, &spent);
	const size_t right_before = tally->right[KGB_SAMPLE_CORRECT];
	for (size_t i = 0; i < op->n_samples; i++) {
		const struct kgb_sample *sample = &op->samples[i];
		tally->judged += sample->has_verdict;
		tally->truncated += kgb_str_eq(sample->finish, "truncated");
		tally->refused_to_answer += kgb_str_eq(sample->finish, "refused");
		tally->no_kernel += !sample->kernel_sha256;
		tally->distinct += sample->kernel_sha256 && sample->same_as == 0;
		tally->cheated += kgb_str_eq(sample->status, "cheated");
		tally->wall_ms += sample->wall_ms > 0 ? sample->wall_ms : 0;
		kgb_usage_add(&tally->usage, &sample->usage);
		if (sample->cost_nanos >= 0)
			tally->cost_nanos = sample->cost_nanos +
					    (tally->cost_nanos < 0 ? 0 : tally->cost_nanos);
		for (int rung = 0; rung < KGB_N_SAMPLE_RUNGS; rung++)
			tally->right[rung] += has_reached(sample, (enum kgb_sample_rung)rung);
	}
	tally->solved += tally->right[KGB_SAMPLE_CORRECT] > right_before;
}

/** How many samples an estimate rests on: all that were answered, or none while one of them has no
 * verdict. Those that are judged first are not like the others: without a kernel it takes no time.
 */
static size_t count_judged(const struct kgb_op_state *op)
{
	for (size_t i = 0; i < op->n_samples; i++)
		if (!op->samples[i].has_verdict)
			return 0;
	return op->n_samples;
}

static double op_pass_at_k(const struct kgb_op_state *op, enum kgb_sample_rung rung, size_t k)
{
	size_t right = 0;
	for (size_t i = 0; i < op->n_samples; i++)
		right += has_reached(&op->samples[i], rung);
	return kgb_pass_at_k(count_judged(op), right, k);
}

/** Correct and faster than `p` times the baseline. */
static double op_fast_at_k(const struct kgb_op_state *op, double p, size_t k)
{
	size_t fast = 0;
	for (size_t i = 0; i < op->n_samples; i++)
		fast += has_reached(&op->samples[i], KGB_SAMPLE_CORRECT) &&
			op->samples[i].speedup > p;
	return kgb_pass_at_k(count_judged(op), fast, k);
}

/** Expected speedup of the fastest of k samples; a sample that is not right counts as 0. */
static double op_best_at_k(const struct kgb_op_state *op, size_t k)
{
	double *speedups = kgb_xcalloc(op->n_samples + 1, sizeof(*speedups));
	size_t n = 0;
	for (size_t i = 0; i < op->n_samples; i++)
		if (op->samples[i].has_verdict)
			speedups[n++] = has_reached(&op->samples[i], KGB_SAMPLE_CORRECT)
						? op->samples[i].speedup
						: 0;
	const double best = kgb_best_at_k(speedups, n, k);
	kgb_free(speedups);
	return best;
}

static bool is_timed(const struct kgb_op_state *op)
{
	for (size_t i = 0; i < op->n_samples; i++)
		if (op->samples[i].speedup > 0)
			return true;
	return false;
}

struct kgb_estimate kgb_run_pass_at_k(const struct kgb_run_state *state, enum kgb_sample_rung rung,
				      size_t k)
{
	double *values = kgb_xcalloc(state->n_ops + 1, sizeof(*values));
	for (size_t i = 0; i < state->n_ops; i++)
		values[i] = op_pass_at_k(&state->ops[i], rung, k);
	const struct kgb_estimate estimate = kgb_bootstrap_mean(values, state->n_ops);
	kgb_free(values);
	return estimate;
}

/** Share of operators of which one of the first k samples is right: KernelGenBench's number, which
 * depends on the order of the samples. Missing samples are not right. */
static double cumulative_at_k(const struct kgb_run_state *state, size_t k)
{
	size_t solved = 0;
	for (size_t i = 0; i < state->n_ops; i++) {
		bool any = false;
		for (size_t s = 0; s < state->ops[i].n_samples; s++) {
			const struct kgb_sample *sample = &state->ops[i].samples[s];
			any = any || ((size_t)sample->number <= k &&
				      has_reached(sample, KGB_SAMPLE_CORRECT));
		}
		solved += any;
	}
	return state->n_ops > 0 ? (double)solved / (double)state->n_ops : (double)NAN;
}

static void write_tally(struct kgb_jsonw *w, const struct tally *tally)
{
	const size_t missing = tally->asked > tally->answered ? tally->asked - tally->answered : 0;
	kgb_jsonw_put(w,
		      "asked: %zu, answered: %zu, missing: %zu, truncated: %zu, refused: %zu, "
		      "no_kernel: %zu, distinct_kernels: %zu, judged: %zu, cheated: %zu",
		      tally->asked, tally->answered, missing, tally->truncated,
		      tally->refused_to_answer, tally->no_kernel, tally->distinct, tally->judged,
		      tally->cheated);
	kgb_jsonw_put(w, "compiles: %zu, core: %zu, correct: %zu, seconds: %g",
		      tally->right[KGB_SAMPLE_COMPILES], tally->right[KGB_SAMPLE_CORE],
		      tally->right[KGB_SAMPLE_CORRECT], kgb_report__seconds(tally->wall_ms));
	const int64_t tokens = kgb_usage_total(&tally->usage);
	const int64_t all_tokens = kgb_usage_total(&tally->spent.gateway);
	kgb_jsonw_put(w, "tokens: %+ld, other_tokens: %+ld, cost_usd: %g", tokens,
		      tokens >= 0 && all_tokens >= tokens ? all_tokens - tokens : -1,
		      kgb_report__dollars(tally->cost_nanos));
}

/** Member per_solved: what each operator with a right sample took, with what the others took. */
static void write_per_solved(struct kgb_jsonw *w, const struct tally *tally)
{
	const double n = (double)tally->solved;
	const int64_t tokens = kgb_usage_total(&tally->spent.gateway);
	const bool is_priced = !tally->spent.cost_unknown && tally->spent.cost_nanos >= 0;
	kgb_jsonw_put(w, "per_solved: {operators: %zu, tokens: %g, cost_usd: %g, seconds: %g}",
		      tally->solved, tokens >= 0 && n > 0 ? (double)tokens / n : (double)NAN,
		      is_priced && n > 0 ? kgb_report__dollars(tally->spent.cost_nanos) / n
					 : (double)NAN,
		      n > 0 ? kgb_report__seconds(tally->wall_ms) / n : (double)NAN);
}

static void key_of(struct kgb_jsonw *w, size_t k)
{
	char key[24];
	snprintf(key, sizeof(key), "%zu", k);
	kgb_jsonw_key(w, key);
}

void kgb_samples_write_op(struct kgb_jsonw *w, const struct kgb_run_state *state,
			  const struct kgb_op_state *op)
{
	struct tally tally = TALLY_INIT;
	if (state->n_samples == 0)
		return;
	add_op(&tally, state, op);
	kgb_jsonw_put(w, "samples: {");
	write_tally(w, &tally);
	const size_t n = count_judged(op);
	kgb_jsonw_put(w, "pass_at_k: {");
	for (size_t i = 0; i < KGB_ARRAY_LEN(ks) && ks[i] <= n; i++) {
		key_of(w, ks[i]);
		kgb_jsonw_put(w, "{compiles: %g, core: %g, correct: %g}",
			      op_pass_at_k(op, KGB_SAMPLE_COMPILES, ks[i]),
			      op_pass_at_k(op, KGB_SAMPLE_CORE, ks[i]),
			      op_pass_at_k(op, KGB_SAMPLE_CORRECT, ks[i]));
	}
	kgb_jsonw_put(w, "}, best_speedup_at_k: {");
	for (size_t i = 0; i < KGB_ARRAY_LEN(ks) && ks[i] <= n && is_timed(op); i++) {
		key_of(w, ks[i]);
		kgb_jsonw_num(w, op_best_at_k(op, ks[i]));
	}
	kgb_jsonw_put(w, "}}");
}

static void write_estimate(struct kgb_jsonw *w, const struct kgb_estimate *estimate)
{
	kgb_jsonw_put(w, "{value: %g, low: %g, high: %g, operators: %zu}", estimate->value,
		      estimate->low, estimate->high, estimate->n);
}

static void write_pass_at_k(struct kgb_jsonw *w, const struct kgb_run_state *state, size_t k)
{
	key_of(w, k);
	kgb_jsonw_object(w);
	for (int rung = 0; rung < KGB_N_SAMPLE_RUNGS; rung++) {
		const struct kgb_estimate estimate =
			kgb_run_pass_at_k(state, (enum kgb_sample_rung)rung, k);
		kgb_jsonw_key(w, rung_names[rung]);
		write_estimate(w, &estimate);
	}
	kgb_jsonw_object_end(w);
}

/** Member fast_p_at_k: pass@k with "correct and faster than p times the baseline" as success. */
static void write_fast(struct kgb_jsonw *w, const struct kgb_run_state *state, double p)
{
	char key[KGB_JSON_NUM_LEN];
	double *values = kgb_xcalloc(state->n_ops + 1, sizeof(*values));
	kgb_jsonw_key(w, kgb_json_format_num(p, key));
	kgb_jsonw_object(w);
	for (size_t i = 0; i < KGB_ARRAY_LEN(ks) && ks[i] <= (size_t)state->n_samples; i++) {
		for (size_t k = 0; k < state->n_ops; k++)
			values[k] = op_fast_at_k(&state->ops[k], p, ks[i]);
		const struct kgb_estimate estimate = kgb_bootstrap_mean(values, state->n_ops);
		key_of(w, ks[i]);
		write_estimate(w, &estimate);
	}
	kgb_jsonw_object_end(w);
	kgb_free(values);
}

void kgb_samples_write_run(struct kgb_jsonw *w, const struct kgb_run_state *state)
{
	struct tally tally = TALLY_INIT;
	const size_t most = (size_t)state->n_samples;
	bool timed = false;
	if (most == 0)
		return;
	for (size_t i = 0; i < state->n_ops; i++) {
		add_op(&tally, state, &state->ops[i]);
		timed = timed || is_timed(&state->ops[i]);
	}
	kgb_jsonw_put(w, "samples: {");
	write_tally(w, &tally);
	write_per_solved(w, &tally);
	kgb_jsonw_put(w, "pass_at_k: {");
	for (size_t i = 0; i < KGB_ARRAY_LEN(ks) && ks[i] <= most; i++)
		write_pass_at_k(w, state, ks[i]);
	kgb_jsonw_put(w, "}, cumulative_at_k: {");
	for (size_t i = 0; i < KGB_ARRAY_LEN(ks) && ks[i] <= most; i++) {
		key_of(w, ks[i]);
		kgb_jsonw_num(w, cumulative_at_k(state, ks[i]));
	}
	kgb_jsonw_put(w, "}, fast_p_at_k: {");
	for (size_t i = 0; i < KGB_ARRAY_LEN(fast_ps) && timed; i++)
		write_fast(w, state, fast_ps[i]);
	kgb_jsonw_put(w, "}}");
}

void kgb_samples_write_line(const struct kgb_op_state *op, const struct kgb_sample *sample,
			    struct kgb_buf *out)
{
	struct kgb_jsonw w;
	kgb_jsonw_init(&w, out, 0);
	kgb_jsonw_put(&w, "{operator: %s, sample: %d, attempt: %d, time: %s, seconds: %g", op->name,
		      sample->number, sample->attempt, KGB_REPORT_TIME(sample->time_ms),
		      kgb_report__seconds(sample->wall_ms));
	kgb_jsonw_put(&w, "finish: %s, kernel_sha256: %s, kernel_source: %s", sample->finish,
		      sample->kernel_sha256, sample->kernel_source);
	kgb_jsonw_key(&w, "sent");
	kgb_jsonw_raw(&w, sample->sent ? sample->sent : "null");
	kgb_jsonw_put(&w, "choice: %+d", sample->choice > 0 ? sample->choice : -1);
	kgb_report__usage(&w, "tokens", &sample->usage);
	kgb_jsonw_put(&w, "cost_usd: %g", kgb_report__dollars(sample->cost_nanos));
	kgb_jsonw_put(&w, "status: %s, code: %s, reached: %s, speedup: %g, same_as: %+d}",
		      sample->status, sample->code, sample->reached,
		      sample->speedup > 0 ? sample->speedup : (double)NAN,
		      sample->same_as > 0 ? sample->same_as : -1);
	kgb_buf_addc(out, '\n');
}

int kgb_samples_write_file(int dir_fd, const struct kgb_run_state *state, struct kgb_err *err)
{
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(0);
	if (state->n_samples == 0)
		return 0;
	for (size_t i = 0; i < state->n_ops; i++)
		for (size_t k = 0; k < state->ops[i].n_samples; k++)
			kgb_samples_write_line(&state->ops[i], &state->ops[i].samples[k], &text);
	return kgb_fs_write_atomic(dir_fd, "samples.jsonl", text.ptr, text.len, 0644, false, err);
}
