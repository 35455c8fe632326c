/* SPDX-License-Identifier: MIT */
/** \file
 * Checks that there are enough cases, that they match their names, and that benchmarks keep a large
 * GPU busy long enough: estimated from `bytes` and `flops`, because they are too large to be run
 * here. */
#include "base/str.h"
#include "base/time.h"
#include "verify/cases/case.h"
#include "verify/cost/cost.h"
#include "verify/lint/lint_parts.h"

enum {
	CASES_MIN = 8, /* of an operator, that decide on correctness */
	LARGE_MIN = 3, /* benchmarks of an operator that are not bound by the launch */
	LARGE_MAX = 8,
	ANSWER_MS = 120 * 1000,
	ONE_NUMBER = 8, /* bytes */
	NS_PER_MS = 1000 * 1000,
};
#define LARGE_US 20.0 /* shortest time of a benchmark that is not bound by the launch */
#define CASE_BYTES_MAX ((int64_t)8 << 30) /* of all tensors of a case */

/* An H200 by its data sheet and by measurements: rates of memory and of arithmetic. */
#define BYTES_PER_S 4.5e12
#define FLOPS_PER_S 50e12 /* float32 and float64 */
#define HALF_FLOPS_PER_S 700e12
#define BYTE_FLOPS_PER_S 1400e12

static double flops_per_s(enum kgb_dtype dtype)
{
	if (dtype == KGB_DTYPE_FLOAT16 || dtype == KGB_DTYPE_BFLOAT16)
		return HALF_FLOPS_PER_S;
	return kgb_dtype_size(dtype) == 1 ? BYTE_FLOPS_PER_S : FLOPS_PER_S;
}

static bool is_launch_bound(const struct kgb_case *c)
{
	return kgb_str_ends(c->line->id, "launch_bound");
}

/* ---- sizes of results ---- */

static void write_question(const struct kgb_case *c, struct kgb_buf *out)
{
	const size_t at[KGB_MAX_ARGS] = {0};
	struct kgb_tensor_view views[KGB_MAX_ARGS];
	struct kgb_jsonw w;

	for (size_t i = 0; i < c->n_args; i++)
		views[i] = c->args[i].view;
	kgb_jsonw_init(&w, out, 0);
	kgb_jsonw_put(&w, "{op: 'sizes', target: %s", c->interface->target);
	kgb_request_args(&w, c, at, views, false);
	kgb_jsonw_object_end(&w);
}

static int take_sizes(const struct kgb_case *c, const struct kgb_wire_reply *reply,
		      struct kgb_tensor_view *results, struct kgb_err *err)
{
	for (size_t i = 0; i < c->interface->n_results && i < reply->n_outputs; i++) {
		const struct kgb_wire_output *output = &reply->outputs[i];
		if (kgb_tensor_view_layout(&results[i], (enum kgb_dtype)output->dtype,
					   output->sizes, output->ndim, "contiguous", err) < 0)
			return -1;
	}
	return 0;
}

/* Requests the sizes of results from the reference. Results whose sizes depend on elements of
 * tensors get the sizes of their parameters, or none, and the estimate is too low. */
static int ask_sizes(struct kgb_lint *lint, const struct kgb_case *c,
		     struct kgb_tensor_view *results, struct kgb_err *err)
{
	struct kgb_worker *worker = &lint->lane.reference->worker;
	KGB_AUTO(buf) struct kgb_buf question = KGB_BUF_INIT(KGB_WIRE_REQUEST_MAX);
	KGB_AUTO(free) struct kgb_wire_reply *reply = kgb_xmalloc(sizeof(*reply));

	for (size_t i = 0; i < KGB_MAX_RESULTS; i++)
		results[i] = (struct kgb_tensor_view){.dtype = c->dtype, .ndim = 1};
	for (size_t i = 0; i < c->n_args; i++)
		if (c->args[i].param->kind == KGB_PARAM_TENSOR && c->args[i].param->result >= 0)
			results[c->args[i].param->result] = c->args[i].view;
	write_question(c, &question);
	if (kgb_worker_send(worker, question.ptr, NULL, 0, err) < 0)
		return -1;
	if (kgb_worker_wait(worker, kgb_mono_ms() + ANSWER_MS, reply))
		return reply->status == KGB_WIRE_OK ? take_sizes(c, reply, results, err) : 0;
	if (worker->end == KGB_WORKER_TIMED_OUT)
		return kgb_fail(err, KGB_ERR_FAILED, "%s: no answer on its results' sizes",
				c->name);
	/* The process ran out of memory. */
	kgb_worker_stop(worker);
	kgb_shared_arena_release(&lint->lane.reference->memory);
	return kgb_lane_start_reference(&lint->lane, err);
}

/* ---- benchmarks ---- */

static void check_time(struct kgb_lint *lint, const struct kgb_case *c, int64_t traffic,
		       int64_t flops)
{
	const double memory_us = (double)traffic / BYTES_PER_S * 1e6;
	const double work_us = (double)flops / flops_per_s(c->dtype) * 1e6;
	const double us = memory_us > work_us ? memory_us : work_us;

	if (!is_launch_bound(c) && us < LARGE_US)
		kgb_lint_note(lint->report, "benchmarks",
			      "%s: estimated at %.1f us on an H200, at least %.0f are wanted "
			      "unless its id ends in launch_bound",
			      c->name, us, LARGE_US);
	if (is_launch_bound(c) && us >= LARGE_US)
		kgb_lint_note(lint->report, "benchmarks",
			      "%s: estimated at %.1f us on an H200: not bound by the launch",
			      c->name, us);
}

static void check_memory(struct kgb_lint *lint, const struct kgb_case *c,
			 const struct kgb_tensor_view *results)
{
	int64_t bytes = 0;

	for (size_t i = 0; i < c->n_args; i++)
		bytes += c->args[i].view.storage_elements *
			 (int64_t)kgb_dtype_size(c->args[i].view.dtype);
	for (size_t i = 0; i < c->interface->n_results; i++)
		bytes += kgb_tensor_view_numel(&results[i]) *
			 (int64_t)kgb_dtype_size(results[i].dtype);
	if (bytes > CASE_BYTES_MAX)
		kgb_lint_note(lint->report, "benchmarks",
			      "%s: its tensors have %lld MiB, at most %lld are good", c->name,
			      (long long)(bytes >> 20), (long long)(CASE_BYTES_MAX >> 20));
}

/* Raises *most_bytes to the bytes that the benchmark moves. */
static int lint_benchmark(struct kgb_lint *lint, const struct kgb_case *c, int64_t *most_bytes,
			  struct kgb_err *err)
{
	const size_t n_results = c->interface->n_results;
	struct kgb_tensor_view results[KGB_MAX_RESULTS];
	struct kgb_err why = KGB_ERR_INIT;
	struct kgb_cost cost = {0};

	if (ask_sizes(lint, c, results, err) < 0)
		return -1;
	check_memory(lint, c, results);
	if (kgb_case_cost(&lint->judge.spec, c, results, n_results, &cost, &why) < 0)
		kgb_lint_note(lint->report, "costs", "%s", why.msg);
	else
		check_time(lint, c, cost.traffic, cost.flops);
	if (cost.traffic > *most_bytes)
		*most_bytes = cost.traffic;
	return 0;
}

/* Check the number and the kinds of benchmarks, and one of each interface. An operator with a
 * single number for a result has no large ones. */
static void count_benchmarks(struct kgb_lint *lint, int64_t most_bytes)
{
	const struct kgb_spec *spec = &lint->judge.spec;
	const struct kgb_cases *cases = &lint->judge.cases;
	KGB_AUTO(free) size_t *n = kgb_xcalloc(spec->n_interfaces, sizeof(*n));
	size_t n_small = 0;

	for (size_t i = cases->n; i < cases->n + cases->n_benchmarks; i++) {
		n[cases->items[i].interface - spec->interfaces]++;
		n_small += is_launch_bound(&cases->items[i]);
	}
	const size_t n_large = cases->n_benchmarks - n_small;
	if ((n_large < LARGE_MIN || n_large > LARGE_MAX) && most_bytes > ONE_NUMBER)
		kgb_lint_note(lint->report, "benchmarks", "%zu large ones, %d to %d are good",
			      n_large, LARGE_MIN, LARGE_MAX);
	if (n_small == 0)
		kgb_lint_note(lint->report, "benchmarks",
			      "none has an id that ends in launch_bound");
	for (size_t i = 0; i < spec->n_interfaces; i++)
		if (n[i] == 0)
			kgb_lint_note(lint->report, "benchmarks", "%s has none",
				      spec->interfaces[i].entry);
}

/* ---- all of them ---- */

/* Finds a case that is named after a mode but has no tensor that the mode changes. */
static void check_mode(struct kgb_lint *lint, const struct kgb_case *c)
{
	if ((c->mode != KGB_MODE_SPECIAL && c->mode != KGB_MODE_OUTLIER) ||
	    kgb_case_follows_mode(c))
		return;
	kgb_lint_note(lint->report, "cases",
		      "%s is no %s case: every tensor's fill gives a range, which no mode leaves; "
		      "give one the fill normal or positive, or leave the mode out",
		      c->name, kgb_mode_name(c->mode));
}

static void count_cases(struct kgb_lint *lint)
{
	const struct kgb_cases *cases = &lint->judge.cases;
	size_t lines[KGB_N_DTYPES] = {0};

	if (cases->n < CASES_MIN)
		kgb_lint_note(lint->report, "cases",
			      "%zu decide on correctness, at least %d are good", cases->n,
			      CASES_MIN);
	for (size_t i = 0; i < cases->n; i++) {
		const struct kgb_case *c = &cases->items[i];
		check_mode(lint, c);
		if (i == 0 || c->interface != cases->items[i - 1].interface)
			memset(lines, 0, sizeof(lines));
		if (++lines[c->dtype] == KGB_CASES_PER_TYPE + 1)
			kgb_lint_note(lint->report, "cases", "%s has more than %d in %s",
				      c->interface->entry, KGB_CASES_PER_TYPE,
				      kgb_dtype_name(c->dtype));
	}
}

int kgb_lint_benchmarks(struct kgb_lint *lint, struct kgb_err *err)
{
	const struct kgb_cases *cases = &lint->judge.cases;
	int64_t most_bytes = 0;

	count_cases(lint);
	/* Operators that only rearrange metadata are not timed. */
	if (lint->judge.spec.triton == KGB_TRITON_NONE)
		return 0;
	for (size_t i = cases->n; i < cases->n + cases->n_benchmarks; i++)
		if (lint_benchmark(lint, &cases->items[i], &most_bytes, err) < 0)
			return -1;
	count_benchmarks(lint, most_bytes);
	return 0;
}

/* ---- times of baselines for the table of operators, by the reference's clock ---- */

static int time_case(struct kgb_lint *lint, const struct kgb_case *c, struct kgb_err *err)
{
	struct kgb_trusted *reference = lint->lane.reference;
	const int64_t deadline_ms = kgb_mono_ms() + ANSWER_MS;
	KGB_AUTO(free) struct kgb_wire_reply *reply = kgb_xmalloc(sizeof(*reply));
	struct kgb_case_data data;

	kgb_lane_fill(&lint->lane, &data, c, 0);
	data.is_timed = true;
	pthread_rwlock_wrlock(lint->options->quiet);
	int rc = kgb_case_data_ask(&data, reference, false, deadline_ms, err);
	if (rc == 0)
		rc = kgb_worker_await(&reference->worker, deadline_ms, c->name, reply, err);
	pthread_rwlock_unlock(lint->options->quiet);
	kgb_case_data_release(&data);
	if (rc < 0)
		return -1;
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
