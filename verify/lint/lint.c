/* SPDX-License-Identifier: MIT */
#include "verify/lint/lint.h"

#include <stdarg.h>

#include "base/time.h"
#include "verify/cost/cost.h"
#include "verify/lint/lint_parts.h"

enum { ANSWER_MS = 120 * 1000, OTHER_VARIANT = 1 };

/* ---- findings ---- */

void kgb_lint_note(struct kgb_lint_report *report, const char *lint, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	KGB_AUTO(free) char *text = kgb_xvasprintf(fmt, ap);
	va_end(ap);
	if (report->n_problems++ < KGB_LINT_PROBLEMS_MAX)
		kgb_strv_addf(&report->problems, "%s: %s", lint, text);
}

void kgb_lint_report_release(struct kgb_lint_report *report)
{
	kgb_strv_release(&report->problems);
	kgb_strv_release(&report->medians);
}

/* ---- processes ---- */

int kgb_lint_ask(struct kgb_lane *lane, const struct kgb_case *c,
		 const struct kgb_case_data *storages, uint32_t slack, struct kgb_case_data *out,
		 struct kgb_err *err)
{
	struct kgb_trusted *reference = lane->reference;
	const int64_t deadline_ms = kgb_mono_ms() + ANSWER_MS;

	*out = *storages;
	memset(out->results, 0, sizeof(out->results));
	out->kase = c;
	out->n_results = c->interface->n_results;
	out->slack = slack;
	/* An earlier request may have ended it. */
	if (reference->worker.end != KGB_WORKER_ALIVE) {
		kgb_worker_stop(&reference->worker);
		kgb_shared_arena_release(&reference->memory);
		if (kgb_lane_start_reference(lane, err) < 0)
			return -1;
	}
	if (kgb_case_data_fetch(out, reference, false, deadline_ms, err) == 0)
		return 0;
	kgb_lint_forget(out);
	return -1;
}

void kgb_lint_forget(struct kgb_case_data *data)
{
	memset(data->storages, 0, sizeof(data->storages)); /* borrowed */
	kgb_case_data_release(data);
}

static bool same_result(const struct kgb_truth *a, const struct kgb_truth *b, bool is_written)
{
	const size_t dims = (size_t)a->view.ndim * sizeof(a->view.sizes[0]);

	if (a->view.dtype != b->view.dtype || a->view.ndim != b->view.ndim ||
	    memcmp(a->view.sizes, b->view.sizes, dims) != 0)
		return false;
	if (!a->native || !b->native)
		return !a->native == !b->native;
	if (memcmp(a->strides, b->strides, dims) != 0)
		return false;
	return !is_written ||
	       memcmp(a->native, b->native,
		      (size_t)kgb_tensor_view_numel(&a->view) * kgb_dtype_size(a->view.dtype)) == 0;
}

bool kgb_lint_same(const struct kgb_case_data *a, const struct kgb_case_data *b)
{
	if (a->n_results != b->n_results)
		return false;
	for (size_t i = 0; i < a->n_results; i++)
		if (!same_result(&a->results[i], &b->results[i], !a->kase->interface->is_unwritten))
			return false;
	return true;
}

/* ---- cases ---- */

static void lint_cost(struct kgb_lint *lint, const struct kgb_case_data *data)
{
	struct kgb_tensor_view views[KGB_MAX_RESULTS];
	struct kgb_cost cost;
	struct kgb_err err = KGB_ERR_INIT;

	kgb_case_data_views(data, views);
	if (kgb_case_cost(&lint->judge.spec, data->kase, views, data->n_results, &cost, &err) < 0)
		kgb_lint_note(lint->report, "costs", "%s", err.msg);
}

/* On a GPU only checks that depend on the device: the CPU covers the others. */
static void lint_changed(struct kgb_lint *lint, const struct kgb_case_data *data)
{
	const bool on_cpu = lint->options->judge->device == KGB_DEVICE_CPU;
	struct kgb_case_data other, answer;
	struct kgb_err err = KGB_ERR_INIT;
	const struct kgb_case_data *previous = NULL;

	kgb_lane_fill(&lint->lane, &other, data->kase, OTHER_VARIANT);
	if (on_cpu && kgb_lint_wants_previous(lint, data)) {
		if (kgb_lint_ask(&lint->other, data->kase, &other, 0, &answer, &err) < 0)
			kgb_lint_note(lint->report, "inputs", "with other inputs %s", err.msg);
		else
			previous = &answer;
	}
	kgb_lint_values(lint, data, previous);
	if (on_cpu) {
		kgb_lint_inputs(lint, data, &other);
		kgb_lint_swapped(lint, data);
	}
	if (previous)
		kgb_lint_forget(&answer);
	kgb_case_data_release(&other);
}

static int lint_case(struct kgb_lint *lint, const struct kgb_case *c, struct kgb_err *err)
{
	pthread_rwlock_t *quiet = lint->options->quiet;
	struct kgb_case_data data;

	kgb_lane_fill(&lint->lane, &data, c, 0);
	if (quiet)
		pthread_rwlock_rdlock(quiet);
	int rc = kgb_lane_fetch_truth(&lint->lane, &data, err);
	if (rc == 0) {
		lint_cost(lint, &data);
		if (!c->interface->is_random)
			kgb_lint_again(lint, &data);
		kgb_lint_unread(lint, &data);
		lint_changed(lint, &data);
	}
	if (quiet)
		pthread_rwlock_unlock(quiet);
	kgb_case_data_release(&data);
	return rc;
}

static void begin_interface(struct kgb_lint *lint, const struct kgb_interface *interface)
{
	const size_t n = lint->judge.spec.n_interfaces;

	lint->interface = interface;
	lint->seen = (struct kgb_lint_seen){0};
	memset(lint->swap_differs, 0, n * sizeof(lint->swap_differs[0]));
	memset(lint->swap_refused, 0, n * sizeof(lint->swap_refused[0]));
}

static void settle_interface(struct kgb_lint *lint)
{
	kgb_lint_settle_values(lint);
	if (lint->options->judge->device == KGB_DEVICE_CPU)
		kgb_lint_settle_inputs(lint);
}

static int lint_cases(struct kgb_lint *lint, struct kgb_err *err)
{
	const struct kgb_cases *cases = &lint->judge.cases;

	for (size_t i = 0; i < cases->n; i++) {
		const struct kgb_interface *interface = cases->items[i].interface;
		if (i == 0 || interface != lint->interface) {
			if (i > 0)
				settle_interface(lint);
			begin_interface(lint, interface);
		}
		if (lint_case(lint, &cases->items[i], err) < 0)
			return -1;
	}
	settle_interface(lint);
	return 0;
}

/* ---- specs ---- */

static void open_lane(struct kgb_lane *lane, const struct kgb_lint *lint,
		      const struct kgb_judge *judge)
{
	struct kgb_verdict *verdict = kgb_xmalloc(sizeof(*verdict));

	kgb_verdict_init(verdict);
	verdict->seed = lint->options->seed;
	kgb_lane_init(lane, judge, verdict);
}

static void close_lane(struct kgb_lane *lane)
{
	kgb_lane_release(lane);
	kgb_verdict_release(lane->verdict);
	kgb_free(lane->verdict);
}

static int lint_loaded(struct kgb_lint *lint, struct kgb_err *err)
{
	const struct kgb_lint_options *options = lint->options;
	struct kgb_judge *judge = &lint->judge;
	struct kgb_lint_report *report = lint->report;

	memcpy(report->spec_sha256, judge->spec.sha256, sizeof(report->spec_sha256));
	report->n_interfaces = judge->spec.n_interfaces;
	if (kgb_cases_expand(&judge->spec, &options->seed, &judge->cases, err) < 0)
		return -1;
	kgb_cases_hash_benchmarks(&judge->cases, report->benchmarks_sha256);
	report->n_cases = judge->cases.n;
	report->n_benchmarks = judge->cases.n_benchmarks;
	if (judge->cases.n == 0)
		return kgb_fail(err, KGB_ERR_INVALID, "no case decides on correctness");
	lint->swap_differs = kgb_xcalloc(judge->spec.n_interfaces, sizeof(bool));
	lint->swap_refused = kgb_xcalloc(judge->spec.n_interfaces, sizeof(bool));
	lint->cpu_judge = *judge;
	lint->cpu_judge.zygotes = lint->cpu_zygotes;
	if (kgb_lane_start_reference(&lint->lane, err) < 0 ||
	    kgb_lane_start_reference(&lint->other, err) < 0 ||
	    (options->judge->device != KGB_DEVICE_CPU &&
	     kgb_lane_start_reference(&lint->witness, err) < 0) ||
	    kgb_lint_schemas(lint, err) < 0 ||
	    (options->judge->device == KGB_DEVICE_CPU &&
	     (kgb_lint_benchmarks(lint, err) < 0 || kgb_lint_coverage(lint, err) < 0)) ||
	    lint_cases(lint, err) < 0)
		return -1;
	return options->quiet ? kgb_lint_time(lint, err) : 0;
}

void kgb_lint_spec(const struct kgb_lint_options *options, const char *path,
		   struct kgb_lint_report *report)
{
	struct kgb_lint *lint = kgb_xcalloc(1, sizeof(*lint));
	struct kgb_err err = KGB_ERR_INIT;
	const int64_t started_ms = kgb_mono_ms();

	lint->options = options;
	lint->report = report;
	lint->judge.options = options->judge;
	lint->judge.zygotes = lint->zygotes;
	lint->zygotes[KGB_ROLE_REFERENCE] = options->zygote;
	lint->cpu_zygotes[KGB_ROLE_REFERENCE] = options->witness;
	open_lane(&lint->lane, lint, &lint->judge);
	open_lane(&lint->other, lint, &lint->judge);
	open_lane(&lint->witness, lint, &lint->cpu_judge);
	if (kgb_spec_load(path, &lint->judge.spec, &err) < 0 || lint_loaded(lint, &err) < 0)
		kgb_lint_note(report, "cases", "%s", err.msg);
	close_lane(&lint->witness);
	close_lane(&lint->other);
	close_lane(&lint->lane);
	kgb_cases_release(&lint->judge.cases);
	kgb_spec_release(&lint->judge.spec);
	kgb_free(lint->swap_differs);
	kgb_free(lint->swap_refused);
	kgb_free(lint);
	report->wall_ms = kgb_mono_ms() - started_ms;
}
