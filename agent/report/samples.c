/* SPDX-License-Identifier: MIT */
#include "agent/report/samples.h"

#include <math.h>

#include "agent/report/common.h"
#include "agent/report/refine.h"
#include "agent/statistics/pass_at_k.h"
#include "agent/store/chains.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/system/fs.h"

static const size_t ks[] = {1, 2, 5, 10};
static const double fast_ps[] = {1, 1.5, 2};
/** Counts of one operator's samples, or of all. */
struct tally {
	size_t missing, answered, judged, truncated, refused_to_answer, no_kernel, distinct,
		cheated;
	size_t right[KGB_N_SAMPLE_RUNGS];
	int64_t wall_ms;
	struct kgb_usage usage; /* of the samples */
	int64_t cost_nanos; /* of the samples whose cost is known; -1: of none */
	struct kgb_spent spent; /* for all questions */
	size_t solved; /* operators */
};
#define TALLY_INIT                                                                       \
	{                                                                                \
		.usage = KGB_USAGE_UNKNOWN, .cost_nanos = -1, .spent = KGB_SPENT_NOTHING \
	}

static void add_op(struct tally *tally, const struct kgb_run_state *state,
		   const struct kgb_op_state *op)
{
	tally->missing += (size_t)kgb_op_missing(op, state->n_samples, state->n_rounds);
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
			tally->right[rung] +=
				kgb_sample_has_reached(sample, (enum kgb_sample_rung)rung);
	}
	tally->solved += tally->right[KGB_SAMPLE_CORRECT] > right_before;
}

/** How many samples an estimate rests on: all that were answered, or none while one of them has no
 * verdict. The samples that are judged first are a biased choice: an answer without a kernel needs
 * no time. */
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
		right += kgb_sample_has_reached(&op->samples[i], rung);
	return kgb_pass_at_k(count_judged(op), right, k);
}

/** Correct and faster than `p` times the baseline. */
static double op_fast_at_k(const struct kgb_op_state *op, double p, size_t k)
{
	size_t fast = 0;
	for (size_t i = 0; i < op->n_samples; i++)
		fast += kgb_sample_has_reached(&op->samples[i], KGB_SAMPLE_CORRECT) &&
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
			speedups[n++] = kgb_sample_has_reached(&op->samples[i], KGB_SAMPLE_CORRECT)
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
				      kgb_sample_has_reached(sample, KGB_SAMPLE_CORRECT));
		}
		solved += any;
	}
	return state->n_ops > 0 ? (double)solved / (double)state->n_ops : (double)NAN;
}

static void write_tally(struct kgb_jsonw *w, const struct tally *tally)
{
	kgb_jsonw_put(w,
		      "asked: %zu, answered: %zu, missing: %zu, truncated: %zu, refused: %zu, "
		      "no_kernel: %zu, distinct_kernels: %zu, judged: %zu, cheated: %zu",
		      tally->answered + tally->missing, tally->answered, tally->missing,
		      tally->truncated, tally->refused_to_answer, tally->no_kernel, tally->distinct,
		      tally->judged, tally->cheated);
	kgb_jsonw_put(w, "compiles: %zu, core: %zu, correct: %zu, seconds: %g",
		      tally->right[KGB_SAMPLE_COMPILES], tally->right[KGB_SAMPLE_CORE],
		      tally->right[KGB_SAMPLE_CORRECT], kgb_report__seconds(tally->wall_ms));
	const int64_t tokens = kgb_usage_total(&tally->usage);
	const int64_t all_tokens = kgb_usage_total(&tally->spent.gateway);
	kgb_jsonw_put(w, "tokens: %+ld, other_tokens: %+ld, cost_usd: %g", tokens,
		      tokens >= 0 && all_tokens >= tokens ? all_tokens - tokens : -1,
		      kgb_report__dollars(tally->cost_nanos));
}

/** Member per_solved: the costs of all operators for each one with a right sample. */
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

/** Members pass_at_k and best_speedup_at_k of an operator with independent samples. */
static void write_op_at_k(struct kgb_jsonw *w, const struct kgb_op_state *op)
{
	const size_t n_judged = count_judged(op);
	kgb_jsonw_put(w, "pass_at_k: {");
	for (size_t i = 0; i < KGB_ARRAY_LEN(ks) && ks[i] <= n_judged; i++) {
		key_of(w, ks[i]);
		kgb_jsonw_put(w, "{compiles: %g, core: %g, correct: %g}",
			      op_pass_at_k(op, KGB_SAMPLE_COMPILES, ks[i]),
			      op_pass_at_k(op, KGB_SAMPLE_CORE, ks[i]),
			      op_pass_at_k(op, KGB_SAMPLE_CORRECT, ks[i]));
	}
	kgb_jsonw_put(w, "}, best_speedup_at_k: {");
	for (size_t i = 0; i < KGB_ARRAY_LEN(ks) && ks[i] <= n_judged && is_timed(op); i++) {
		key_of(w, ks[i]);
		kgb_jsonw_num(w, op_best_at_k(op, ks[i]));
	}
	kgb_jsonw_put(w, "}");
}

/** Member refine_at_r of an operator with chains of rounds. */
static void write_op_at_r(struct kgb_jsonw *w, const struct kgb_run_state *state,
			  const struct kgb_op_state *op)
{
	kgb_jsonw_put(w, "refine_at_r: {");
	for (int r = 1; r <= state->n_rounds; r++) {
		if (isnan(kgb_op_refine_at_r(state, op, KGB_SAMPLE_CORRECT, r)))
			continue;
		key_of(w, (size_t)r);
		kgb_jsonw_put(w, "{compiles: %g, core: %g, correct: %g}",
			      kgb_op_refine_at_r(state, op, KGB_SAMPLE_COMPILES, r),
			      kgb_op_refine_at_r(state, op, KGB_SAMPLE_CORE, r),
			      kgb_op_refine_at_r(state, op, KGB_SAMPLE_CORRECT, r));
	}
	kgb_jsonw_put(w, "}");
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
	if (state->n_rounds > 0)
		write_op_at_r(w, state, op);
	else
		write_op_at_k(w, op);
	kgb_jsonw_put(w, "}");
}

static void write_estimate(struct kgb_jsonw *w, const struct kgb_estimate *estimate)
{
	kgb_jsonw_put(w, "{value: %g, low: %g, high: %g, operators: %zu}", estimate->value,
		      estimate->low, estimate->high, estimate->n);
}

/** An estimate for each rung, of samples or of rounds. */
static void write_rungs(struct kgb_jsonw *w, const struct kgb_run_state *state, size_t k,
			bool in_rounds)
{
	key_of(w, k);
	kgb_jsonw_object(w);
	for (int i = 0; i < KGB_N_SAMPLE_RUNGS; i++) {
		const enum kgb_sample_rung rung = (enum kgb_sample_rung)i;
		const struct kgb_estimate estimate =
			in_rounds ? kgb_run_refine_at_r(state, rung, (int)k)
				  : kgb_run_pass_at_k(state, rung, k);
		kgb_jsonw_key(w, kgb_sample_rung_name(rung));
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

/** The figures of independent samples. */
static void write_run_at_k(struct kgb_jsonw *w, const struct kgb_run_state *state)
{
	const size_t most = (size_t)state->n_samples;
	bool timed = false;
	for (size_t i = 0; i < state->n_ops; i++)
		timed = timed || is_timed(&state->ops[i]);
	kgb_jsonw_put(w, "pass_at_k: {");
	for (size_t i = 0; i < KGB_ARRAY_LEN(ks) && ks[i] <= most; i++)
		write_rungs(w, state, ks[i], false);
	kgb_jsonw_put(w, "}, cumulative_at_k: {");
	for (size_t i = 0; i < KGB_ARRAY_LEN(ks) && ks[i] <= most; i++) {
		key_of(w, ks[i]);
		kgb_jsonw_num(w, cumulative_at_k(state, ks[i]));
	}
	kgb_jsonw_put(w, "}, fast_p_at_k: {");
	for (size_t i = 0; i < KGB_ARRAY_LEN(fast_ps) && timed; i++)
		write_fast(w, state, fast_ps[i]);
	kgb_jsonw_put(w, "}");
}

/** The figures of chains of rounds. */
static void write_run_at_r(struct kgb_jsonw *w, const struct kgb_run_state *state)
{
	kgb_jsonw_put(w, "refine_at_r: {");
	for (int r = 1; r <= state->n_rounds; r++)
		write_rungs(w, state, (size_t)r, true);
	kgb_jsonw_put(w, "}");
}

void kgb_samples_write_run(struct kgb_jsonw *w, const struct kgb_run_state *state)
{
	struct tally tally = TALLY_INIT;
	if (state->n_samples == 0)
		return;
	for (size_t i = 0; i < state->n_ops; i++)
		add_op(&tally, state, &state->ops[i]);
	kgb_jsonw_put(w, "samples: {");
	write_tally(w, &tally);
	write_per_solved(w, &tally);
	if (state->n_rounds > 0)
		write_run_at_r(w, state);
	else
		write_run_at_k(w, state);
	kgb_jsonw_put(w, "}");
}

void kgb_samples_write_line(const struct kgb_op_state *op, const struct kgb_sample *sample,
			    struct kgb_buf *out)
{
	const struct kgb_attempt_state *attempt = &op->attempts[sample->attempt - 1];
	struct kgb_jsonw w;
	kgb_jsonw_init(&w, out, 0);
	kgb_jsonw_put(&w, "{operator: %s, sample: %d, round: %d, attempt: %d, model: %s", op->name,
		      sample->number, sample->round, sample->attempt, attempt->maker.model);
	kgb_jsonw_put(&w, "prompt_sha256: %s, time: %s, seconds: %g", attempt->prompt_sha256,
		      KGB_REPORT_TIME(sample->time_ms), kgb_report__seconds(sample->wall_ms));
	kgb_jsonw_put(&w, "finish: %s, kernel_sha256: %s, kernel_source: %s", sample->finish,
		      sample->kernel_sha256, sample->kernel_source);
	kgb_jsonw_key(&w, "sent");
	kgb_jsonw_raw(&w, sample->sent ? sample->sent : "null");
	kgb_jsonw_put(&w, "choice: %+d, thinking_bytes: %+ld",
		      sample->choice > 0 ? sample->choice : -1, (long)sample->thinking_bytes);
	kgb_report__usage(&w, "tokens", &sample->usage);
	kgb_jsonw_put(&w, "cost_usd: %g", kgb_report__dollars(sample->cost_nanos));
	kgb_jsonw_put(&w, "check: %s, check_code: %s", sample->check_status, sample->check_code);
	kgb_jsonw_put(&w, "status: %s, code: %s, reached: %s, speedup: %g", sample->status,
		      sample->code, sample->reached,
		      sample->speedup > 0 ? sample->speedup : (double)NAN);
	kgb_jsonw_put(&w, "same_as: %+d, same_as_round: %+d}",
		      sample->same_as > 0 ? sample->same_as : -1,
		      sample->same_as > 0 ? sample->same_as_round : -1);
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
	return kgb_fs_write_atomic(dir_fd, KGB_SAMPLES_NAME, text.ptr, text.len, 0644, false, err);
}
