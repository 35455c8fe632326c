/* SPDX-License-Identifier: MIT */
#include "verify/ablation/dependence.h"

#include "verify/lane/case_judge.h"

/* Inputs to try: drawn ones, and some whose elements are all the same number, because drawn numbers
 * are hardly ever equal, and the least of many bytes is nearly always 0. */
enum probe { PROBE_DRAWN, PROBE_DRAWN_AGAIN, PROBE_NUMBER, PROBE_ZEROS, PROBE_LARGE, N_PROBES };
/* No other check uses the variants from VARIANT_PROBE on. */
enum { VARIANT_PROBE = 4, LARGE = 100 };

/* The first number among the arguments, which may be one to compare with or to clamp to; 1: there
 * is none. */
static double number_of(const struct kgb_case *c)
{
	for (size_t i = 0; i < c->n_args; i++) {
		const struct kgb_case_value *value = &c->args[i].value;
		if (c->args[i].param->kind != KGB_PARAM_VALUE)
			continue;
		if (value->kind == KGB_CASE_VALUE_FLOAT || value->kind == KGB_CASE_VALUE_COMPLEX)
			return value->number;
		if (value->kind == KGB_CASE_VALUE_INT)
			return (double)value->integer;
	}
	return 1;
}

/* Move *number into the range of the argument's values. False: these have a structure or a meaning,
 * so that not every number may be among them. */
static bool fit(const struct kgb_arg *arg, double *number)
{
	if (arg->param->kind != KGB_PARAM_TENSOR || arg->bounded)
		return false;
	if (arg->fill == KGB_FILL_POSITIVE)
		*number = *number < 1 ? 1 : *number;
	else if (arg->fill == KGB_FILL_UNIFORM || arg->fill == KGB_FILL_INT)
		*number = *number < arg->lo ? arg->lo : *number > arg->hi ? arg->hi : *number;
	else if (arg->fill == KGB_FILL_BOOL)
		*number = *number != 0;
	else
		return arg->fill == KGB_FILL_NORMAL || arg->fill == KGB_FILL_ONES ||
		       arg->fill == KGB_FILL_NAN;
	return true;
}

static void level(struct kgb_case_data *data, double number)
{
	for (size_t i = 0; i < data->kase->n_args; i++) {
		const struct kgb_arg *arg = &data->kase->args[i];
		const size_t size = kgb_dtype_size(arg->view.dtype);
		double fitting = number;
		if (!data->storages[i] || !fit(arg, &fitting))
			continue;
		for (int64_t k = 0; k < arg->view.storage_elements; k++)
			kgb_dtype_store(arg->view.dtype,
					(char *)data->storages[i] + (size_t)k * size, fitting);
	}
}

static void fill_probe(struct kgb_lane *lane, const struct kgb_case *c, enum probe probe,
		       struct kgb_case_data *out)
{
	kgb_lane_fill(lane, out, c, VARIANT_PROBE + (uint32_t)probe);
	if (probe == PROBE_NUMBER)
		level(out, number_of(c));
	else if (probe == PROBE_ZEROS)
		level(out, 0);
	else if (probe == PROBE_LARGE)
		level(out, LARGE);
}

/* The argument that holds result i after the call, with its elements before the call; NULL:
 * none. */
static const struct kgb_tensor_view *held_by(const struct kgb_case_data *data, size_t i,
					     const char **storage)
{
	for (size_t k = 0; k < data->kase->n_args; k++) {
		const struct kgb_arg *arg = &data->kase->args[k];
		*storage = data->storages[k];
		if (arg->param->kind == KGB_PARAM_TENSOR && arg->param->result == (int64_t)i &&
		    *storage && arg->view.dtype == data->results[i].view.dtype &&
		    kgb_tensor_view_numel(&arg->view) ==
			    kgb_tensor_view_numel(&data->results[i].view))
			return &arg->view;
	}
	return NULL;
}

/* Whether both are the same number; -0 equals 0, because 0 times a negative number is -0. */
static bool is_equal(enum kgb_dtype dtype, const char *a, const char *b)
{
	const enum kgb_dtype part = kgb_dtype_part(dtype);
	const size_t size = kgb_dtype_size(part);

	for (size_t at = 0; at < kgb_dtype_size(dtype); at += size)
		if (memcmp(a + at, b + at, size) != 0 &&
		    !(kgb_dtype_load(part, a + at) == 0 && kgb_dtype_load(part, b + at) == 0))
			return false;
	return true;
}

/* Whether each element of result i is the same in both, or in both the argument's element before
 * the call. */
static bool is_same(const struct kgb_case_data *a, const struct kgb_case_data *b, size_t i)
{
	const struct kgb_truth *truths[] = {&a->results[i], &b->results[i]};
	const enum kgb_dtype dtype = truths[0]->view.dtype;
	const size_t size = kgb_dtype_size(dtype);
	const int64_t n = kgb_tensor_view_numel(&truths[0]->view);
	const char *before[2];
	const struct kgb_tensor_view *held = held_by(a, i, &before[0]);
	struct kgb_tensor_view_walk walk = {0};

	if (dtype != truths[1]->view.dtype || n != kgb_tensor_view_numel(&truths[1]->view))
		return false;
	if (n > 0 && (!truths[0]->native || !truths[1]->native))
		return false;
	if (held && held_by(b, i, &before[1]) != held)
		return false;
	if (held)
		kgb_tensor_view_walk_init(&walk, held);
	for (int64_t e = 0; e < n; e++) {
		const char *now[2];
		bool kept = held != NULL;
		for (int k = 0; k < 2; k++) {
			now[k] = (const char *)truths[k]->native + (size_t)e * size;
			kept = kept &&
			       memcmp(now[k], before[k] + (size_t)walk.at * size, size) == 0;
		}
		if (!kept && !is_equal(dtype, now[0], now[1]))
			return false;
		if (held)
			kgb_tensor_view_walk_next(&walk);
	}
	return true;
}

int kgb_case_depends_on_inputs(struct kgb_lane *lane, const struct kgb_case_data *data,
			       bool *depends, struct kgb_err *err)
{
	const struct kgb_case *c = data->kase;
	bool differs = c->mode == KGB_MODE_BENCHMARK || c->interface->is_random ||
		       lane->judge->spec.triton == KGB_TRITON_ALONE;
	int rc = 0;

	for (int probe = 0; probe < N_PROBES && rc == 0 && !differs; probe++) {
		struct kgb_case_data other;
		fill_probe(lane, c, (enum probe)probe, &other);
		rc = kgb_lane_fetch_truth(lane, &other, err);
		for (size_t i = 0; rc == 0 && i < data->n_results; i++)
			differs |=
				kgb_case_result_needs_kernel(data, i) && !is_same(data, &other, i);
		kgb_case_data_release(&other);
	}
	if (rc == 0)
		*depends = differs;
	return rc;
}
