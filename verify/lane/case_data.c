/* SPDX-License-Identifier: MIT */
#include "verify/lane/case_data.h"

#include <math.h>

#include "base/formats/jsonw.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "base/str.h"
#include "base/time.h"
#include "verify/cases/read_mask.h"
#include "verify/fills/fill.h"
#include "verify/fills/values.h"

enum {
	STORAGE_ALIGN = 64,
	COUPLES_STREAM = 4500, /* random streams beyond those of the arguments and of calls */
	VARIANT_STREAMS = 100000,
};

static size_t aligned(size_t bytes)
{
	return (bytes + STORAGE_ALIGN - 1) / STORAGE_ALIGN * STORAGE_ALIGN;
}

bool kgb_truth_is_filled(const struct kgb_truth *truth)
{
	const size_t size = kgb_dtype_size(truth->view.dtype);
	const size_t bytes = kgb_tensor_view_bytes(&truth->view);

	return memcmp(truth->native, (const char *)truth->native + size, bytes - size) == 0;
}

bool kgb_truth_is_copy(const struct kgb_truth *truth, const struct kgb_tensor_view *view,
		       const char *storage)
{
	const size_t size = kgb_dtype_size(truth->view.dtype);
	const size_t size_in = kgb_dtype_size(view->dtype);
	const int64_t n = kgb_tensor_view_numel(&truth->view);
	struct kgb_tensor_view_walk walk;

	kgb_tensor_view_walk_init(&walk, view);
	for (int64_t i = 0; i < n; i++, kgb_tensor_view_walk_next(&walk))
		if (!kgb_dtype_is_copy(view->dtype, storage + (size_t)walk.at * size_in,
				       truth->view.dtype,
				       (const char *)truth->native + (size_t)i * size))
			return false;
	return true;
}

/* The element of that row-major number. */
static double element(const struct kgb_tensor_view *view, const char *storage, int64_t i)
{
	return kgb_dtype_load(view->dtype, storage + (size_t)kgb_tensor_view_element(view, i) *
							     kgb_dtype_size(view->dtype));
}

/* Whether three quarters of 256 elements, drawn from those behind the first ones along a dimension,
 * are within a thousandth of the first one of their line, or equal to the one before and not 0. */
static bool is_flat_along(const struct kgb_tensor_view *view, const char *storage, int dim)
{
	const int64_t n = kgb_tensor_view_numel(view);
	int64_t inner = 1, n_seen = 0, n_near = 0;

	for (int d = dim + 1; d < view->ndim; d++)
		inner *= view->sizes[d];
	for (uint64_t draw = 0; draw < 256; draw++) {
		const int64_t i = (int64_t)(kgb_mix64(draw) % (uint64_t)n);
		const int64_t first = i - i / inner % view->sizes[dim] * inner;
		if (i == first)
			continue;
		const double of_line = element(view, storage, first);
		const double x = element(view, storage, i);
		n_seen++;
		n_near += fabs(x - of_line) <= fabs(of_line) / 1024 ||
			  (x != 0 && x == element(view, storage, i - inner));
	}
	return n_seen > 0 && 4 * n_near >= 3 * n_seen;
}

static bool is_flat(const struct kgb_tensor_view *view, const char *storage)
{
	for (int dim = 0; dim < view->ndim; dim++)
		if (view->sizes[dim] > 1 && is_flat_along(view, storage, dim))
			return true;
	return false;
}

bool kgb_case_data_is_flat(const struct kgb_case_data *data)
{
	const struct kgb_case *c = data->kase;
	bool has_tensor = false;

	for (size_t i = 0; i < c->n_args; i++) {
		const struct kgb_tensor_view *view = &c->args[i].view;
		if (!data->storages[i] || c->args[i].param->kind != KGB_PARAM_TENSOR ||
		    !kgb_dtype_is_float(view->dtype) || kgb_dtype_is_complex(view->dtype) ||
		    kgb_tensor_view_numel(view) < 2)
			continue;
		if (!is_flat(view, data->storages[i]))
			return false;
		has_tensor = true;
	}
	return has_tensor;
}

/* Give all parts of a storage the elements of all. */
static void join_parts(const struct kgb_case_data *data)
{
	const struct kgb_case *c = data->kase;

	for (size_t i = 0; i < c->n_args; i++)
		if (c->args[i].is_part)
			kgb_tensor_view_copy(&c->args[i].view, data->storages[i],
					     data->storages[c->args[i].same_as]);
	for (size_t i = 0; i < c->n_args; i++)
		if (c->args[i].is_part)
			kgb_parallel_copy(data->storages[i], data->storages[c->args[i].same_as],
					  data->storage_bytes[i]);
}

void kgb_case_data_fill(struct kgb_case_data *data, const struct kgb_case *c,
			const struct kgb_seed *seed, uint32_t variant)
{
	*data = (struct kgb_case_data){
		.kase = c, .n_results = c->interface->n_results, .seed = *seed, .variant = variant};
	for (size_t i = 0; i < c->n_args; i++) {
		const struct kgb_arg *arg = &c->args[i];
		struct kgb_rng rng;
		if (arg->param->kind != KGB_PARAM_TENSOR || arg->view.storage_elements == 0)
			continue;
		data->storage_bytes[i] = kgb_tensor_view_storage_bytes(&arg->view);
		data->storages[i] = kgb_xmalloc(data->storage_bytes[i]);
		kgb_rng_init(&rng, seed, c->name, variant * VARIANT_STREAMS + (uint32_t)i);
		if (arg->is_repeated && !arg->is_part)
			kgb_parallel_copy(data->storages[i], data->storages[arg->same_as],
					  data->storage_bytes[i]);
		else if (arg->fill == KGB_FILL_OWNERS)
			kgb_fill_owners(arg, data->storages[i], &c->args[arg->sibling],
					data->storages[arg->sibling]);
		else
			kgb_fill(arg, c->mode, &rng, data->storages[i]);
		kgb_rng_init(&rng, seed, c->name,
			     variant * VARIANT_STREAMS + COUPLES_STREAM + (uint32_t)i);
		if (c->mode == KGB_MODE_SPECIAL)
			kgb_fill_special_couples(c->args, i, &rng, data->storages);
		kgb_fill_couples(c->args, i, &rng, data->storages);
	}
	join_parts(data);
	kgb_read_mask_fill(c, data->storages, UINT8_MAX);
}

void kgb_case_data_shape(struct kgb_case_data *data, const struct kgb_case_data *like)
{
	data->n_results = like->n_results;
	for (size_t i = 0; i < like->n_results; i++) {
		data->results[i] = like->results[i];
		data->results[i].native = NULL;
		data->results[i].exact = NULL;
		data->results[i].magnitude = NULL;
	}
}

static void release_results(struct kgb_case_data *data)
{
	for (size_t i = 0; i < data->n_results; i++) {
		kgb_free(data->results[i].native);
		kgb_free(data->results[i].exact);
		kgb_free(data->results[i].magnitude);
		data->results[i] = (struct kgb_truth){0};
	}
}

void kgb_case_data_drop_inputs(struct kgb_case_data *data)
{
	for (size_t i = 0; i < KGB_MAX_ARGS; i++) {
		kgb_free(data->storages[i]);
		data->storages[i] = NULL;
		data->storage_bytes[i] = 0;
	}
}

void kgb_case_data_release(struct kgb_case_data *data)
{
	release_results(data);
	kgb_case_data_drop_inputs(data);
	*data = (struct kgb_case_data){0};
}

void kgb_case_data_views(const struct kgb_case_data *data, struct kgb_tensor_view *out)
{
	for (size_t i = 0; i < data->n_results; i++)
		out[i] = data->results[i].view;
}

/* ---- requests ---- */

static void write_numbers(struct kgb_jsonw *w, const char *key, const int64_t *items, size_t n)
{
	kgb_jsonw_key(w, key);
	kgb_jsonw_array(w);
	for (size_t i = 0; i < n; i++)
		kgb_jsonw_i64(w, items[i]);
	kgb_jsonw_array_end(w);
}

static void write_tensor(struct kgb_jsonw *w, const struct kgb_tensor_view *view, size_t at)
{
	kgb_jsonw_put(w, "kind: 'tensor', dtype: %u, at: %ld, elements: %ld, first: %ld",
		      view->dtype, (int64_t)at, view->storage_elements, view->offset);
	write_numbers(w, "sizes", view->sizes, (size_t)view->ndim);
	write_numbers(w, "strides", view->strides, (size_t)view->ndim);
}

static void write_value(struct kgb_jsonw *w, const struct kgb_case_value *value)
{
	const enum kgb_case_value_kind kind = value->kind;
	char number[40], imaginary[40];

	/* As text: JSON has no infinity. */
	snprintf(number, sizeof(number), "%.17g", value->number);
	snprintf(imaginary, sizeof(imaginary), "%.17g", value->imaginary);
	if (kind == KGB_CASE_VALUE_FLOAT) {
		kgb_jsonw_put(w, "kind: 'float', value: %s", number);
	} else if (kind == KGB_CASE_VALUE_COMPLEX) {
		kgb_jsonw_put(w, "kind: 'complex', value: [%s, %s]", number, imaginary);
	} else if (kind == KGB_CASE_VALUE_DTYPE) {
		kgb_jsonw_put(w, "kind: 'dtype', value: %u", value->dtype);
	} else if (kind == KGB_CASE_VALUE_DEVICE) {
		kgb_jsonw_put(w, "kind: 'device'");
	} else {
		kgb_jsonw_put(w, "kind: 'plain'");
		if (kind == KGB_CASE_VALUE_NONE)
			kgb_jsonw_knull(w, "value");
		else if (kind == KGB_CASE_VALUE_BOOL)
			kgb_jsonw_kbool(w, "value", value->boolean);
		else if (kind == KGB_CASE_VALUE_INT)
			kgb_jsonw_ki64(w, "value", value->integer);
		else if (kind == KGB_CASE_VALUE_INTS)
			write_numbers(w, "value", value->ints, value->n_ints);
		else
			kgb_jsonw_kstr(w, "value", value->str);
	}
}

/* Write the place of the storage that the addresses point into. */
static void write_behind(struct kgb_jsonw *w, const struct kgb_case *c, size_t i, const size_t *at)
{
	const int64_t place[] = {(int64_t)at[i],
				 (int64_t)kgb_tensor_view_storage_bytes(&c->args[i].view)};

	write_numbers(w, "behind", place, KGB_ARRAY_LEN(place));
}

static void write_name(struct kgb_jsonw *w, const struct kgb_case *c, size_t i, bool with_out)
{
	const struct kgb_param *param = c->args[i].param;

	if (with_out ? kgb_case_names_arg(c, i) : param->keyword)
		kgb_jsonw_kstr(w, "name", param->list ? param->list : param->name);
}

void kgb_request_args(struct kgb_jsonw *w, const struct kgb_case *c, const size_t *at,
		      const struct kgb_tensor_view *views, bool with_out)
{
	int64_t places[KGB_MAX_ARGS] = {0}, n = 0;

	kgb_jsonw_put(w, "args: [");
	for (size_t i = 0; i < c->n_args; i++) {
		const struct kgb_arg *arg = &c->args[i];
		const char *list = arg->param->list;
		if ((arg->param->kind == KGB_PARAM_OUT && !with_out) || (list && arg->is_absent) ||
		    ((arg->param->is_behind || arg->is_left_out) && with_out))
			continue;
		places[i] = n++;
		kgb_jsonw_object(w);
		/* The reference need not be given the same object twice, only the same values. */
		if (arg->is_repeated && !arg->is_transposed && !arg->is_part && with_out)
			kgb_jsonw_ki64(w, "same", places[arg->same_as]);
		if (list)
			kgb_jsonw_kstr(w, "list", list);
		write_name(w, c, i, with_out);
		if (arg->param->kind == KGB_PARAM_VALUE || arg->is_absent)
			write_value(w, &arg->value);
		else
			write_tensor(w, &views[i], at[i]);
		if (with_out && kgb_case_has_gradient(c, i))
			kgb_jsonw_ki64(w, "gradient", c->style.gradient);
		if (arg->param->into)
			write_behind(w, c, arg->behind, at);
		kgb_jsonw_object_end(w);
	}
	kgb_jsonw_array_end(w);
}

/* ---- the reference ---- */

/* The candidate and its baseline get addresses; the reference gets numbers of rows. */
static bool passes_addresses(const struct kgb_interface *interface)
{
	for (size_t i = 0; i < interface->n_params; i++)
		if (interface->params[i].into)
			return true;
	return false;
}

/* Offsets of the storages in the reference's arena, one behind the other. Returns the bytes of
 * all. */
static size_t place_storages(const struct kgb_case_data *data, size_t at[KGB_MAX_ARGS])
{
	size_t used = 0;

	for (size_t i = 0; i < data->kase->n_args; i++) {
		at[i] = used;
		used = aligned(used + data->storage_bytes[i]);
	}
	return used;
}

void kgb_case_data_write_request(const struct kgb_case_data *data, bool exact, struct kgb_buf *out)
{
	const struct kgb_case *c = data->kase;
	size_t at[KGB_MAX_ARGS] = {0};
	struct kgb_tensor_view views[KGB_MAX_ARGS];
	struct kgb_jsonw w;

	(void)place_storages(data, at);
	for (size_t i = 0; i < c->n_args; i++)
		views[i] = c->args[i].view;
	kgb_jsonw_init(&w, out, 0);
	kgb_jsonw_put(&w, "{op: %s, exact: %hhd", data->is_timed ? "time" : "call", exact);
	if (data->slack)
		kgb_jsonw_ki64(&w, "slack", data->slack);
	kgb_jsonw_put(&w, "target: %s, magnitude: %s",
		      data->is_timed && !passes_addresses(c->interface) ? c->interface->baseline
									: c->interface->target,
		      c->interface->magnitude);
	kgb_request_args(&w, c, at, views, false);
	kgb_jsonw_object_end(&w);
}

int kgb_case_data_ask(const struct kgb_case_data *data, struct kgb_trusted *reference, bool exact,
		      int64_t deadline_ms, struct kgb_err *err)
{
	struct kgb_shared_arena *memory = &reference->memory;
	const struct kgb_case *c = data->kase;
	size_t at[KGB_MAX_ARGS] = {0};
	const size_t used = place_storages(data, at);
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(KGB_WIRE_REQUEST_MAX);

	if (kgb_shared_arena_reserve(memory, &reference->worker, used, 1, true,
				     deadline_ms - kgb_mono_ms(), err) < 0)
		return kgb_ctx(err, "case '%s'", c->name);
	for (size_t i = 0; i < c->n_args; i++)
		if (data->storages[i])
			kgb_parallel_copy(memory->arena + at[i], data->storages[i],
					  data->storage_bytes[i]);
	kgb_case_data_write_request(data, exact, &text);
	if (text.overflowed)
		return kgb_fail(err, KGB_ERR_LIMIT, "case '%s': its request is too long", c->name);
	return kgb_worker_send(&reference->worker, text.ptr, NULL, 0, err);
}

/* A copy of one output's elements; NULL when it has none. */
static void *copy_output(const struct kgb_wire_output *output, const char *out)
{
	if (output->n_bytes == 0)
		return NULL;
	void *copy = kgb_xmalloc((size_t)output->n_bytes);
	kgb_parallel_copy(copy, out + output->offset, (size_t)output->n_bytes);
	return copy;
}

static bool fits(const struct kgb_wire_reply *reply, size_t out_bytes)
{
	for (uint32_t i = 0; i < reply->n_outputs; i++)
		if ((uint64_t)reply->outputs[i].offset + (uint64_t)reply->outputs[i].n_bytes >
		    out_bytes)
			return false;
	return true;
}

/* An argument that is changed in place keeps its type and sizes: else the spec has a fault. */
static int check_in_place(const struct kgb_case *c, size_t i, const struct kgb_tensor_view *truth,
			  struct kgb_err *err)
{
	for (size_t k = 0; k < c->n_args; k++) {
		const struct kgb_arg *arg = &c->args[k];
		bool same = arg->view.dtype == truth->dtype && arg->view.ndim == truth->ndim;
		if (arg->param->kind != KGB_PARAM_TENSOR || arg->param->result != (int)i)
			continue;
		for (int d = 0; same && d < truth->ndim; d++)
			same = arg->view.sizes[d] == truth->sizes[d];
		if (!same)
			return kgb_fail(
				err, KGB_ERR_FAILED,
				"result %zu differs in type or size from parameter '%s', which holds it",
				i, arg->param->name);
	}
	return 0;
}

/* Record whether the native result is a view of an argument. The storages lie in the reference's
 * arena in the order in which kgb_case_data_ask placed them. */
static void keep_alias(struct kgb_case_data *data, struct kgb_truth *truth,
		       const struct kgb_wire_output *native)
{
	size_t at = 0;

	memcpy(truth->strides, native->strides, sizeof(truth->strides));
	for (size_t i = 0; i < data->kase->n_args && native->where == KGB_WIRE_ARENA; i++) {
		size_t end = at + data->storage_bytes[i];
		if (native->address >= at && native->address < end) {
			truth->is_alias = true;
			truth->alias_arg = i;
			truth->alias_at = (size_t)native->address - at;
		}
		at = aligned(end);
	}
}

static int keep_result(struct kgb_case_data *data, size_t i, const struct kgb_wire_reply *reply,
		       const char *out, bool exact, struct kgb_err *err)
{
	const struct kgb_interface *interface = data->kase->interface;
	const struct kgb_wire_output *native = &reply->outputs[i];
	struct kgb_truth *truth = &data->results[i];

	if (native->kind != KGB_WIRE_TENSOR)
		return kgb_fail(err, KGB_ERR_FAILED, "result %zu of the reference is no tensor", i);
	if (kgb_tensor_view_layout(&truth->view, (enum kgb_dtype)native->dtype, native->sizes,
				   native->ndim, "contiguous", err) < 0)
		return -1;
	if (check_in_place(data->kase, i, &truth->view, err) < 0)
		return -1;
	int64_t n_elements = kgb_tensor_view_numel(&truth->view);
	if (native->n_bytes != (int64_t)kgb_tensor_view_bytes(&truth->view))
		return kgb_fail(err, KGB_ERR_FAILED, "result %zu of the reference is incomplete",
				i);
	enum kgb_dtype wide =
		kgb_dtype_is_complex(truth->view.dtype) ? KGB_DTYPE_COMPLEX128 : KGB_DTYPE_FLOAT64;
	for (size_t more = i + data->n_results; more < reply->n_outputs; more += data->n_results)
		if (reply->outputs[more].dtype != wide ||
		    reply->outputs[more].n_bytes != n_elements * (int64_t)kgb_dtype_size(wide))
			return kgb_fail(err, KGB_ERR_FAILED,
					"float64 result %zu of the reference is incomplete", i);
	keep_alias(data, truth, native);
	if (!interface->is_unwritten)
		truth->native = copy_output(native, out);
	/* Random draws of the reference are no values to compare with. */
	if (exact && truth->native && interface->random_results[i].kind == KGB_RANDOM_NONE &&
	    (kgb_dtype_is_float(truth->view.dtype) || interface->is_rounded[i]))
		truth->exact = copy_output(&reply->outputs[data->n_results + i], out);
	if (exact && interface->magnitude && truth->exact)
		truth->magnitude = copy_output(&reply->outputs[2 * data->n_results + i], out);
	return 0;
}

int kgb_case_data_wait(const struct kgb_case_data *data, struct kgb_trusted *reference, bool exact,
		       int64_t deadline_ms, struct kgb_wire_reply *reply, struct kgb_err *err)
{
	struct kgb_worker *worker = &reference->worker;
	struct kgb_shared_arena *memory = &reference->memory;
	const int64_t timeout_ms = deadline_ms - kgb_mono_ms();
	KGB_AUTO(free)
	char *what = kgb_xasprintf("case '%s': the reference failed", data->kase->name);

	if (kgb_worker_await(worker, deadline_ms, what, reply, err) < 0)
		return -1;
	if ((uint64_t)reply->value <= memory->out_bytes)
		return 0;
	/* The results did not fit; now their size is known. */
	if (kgb_shared_arena_reserve(memory, worker, memory->arena_bytes, (size_t)reply->value,
				     true, timeout_ms, err) < 0 ||
	    kgb_case_data_ask(data, reference, exact, kgb_mono_ms() + timeout_ms, err) < 0)
		return -1;
	return kgb_worker_await(worker, kgb_mono_ms() + timeout_ms, what, reply, err);
}

int kgb_case_data_take(struct kgb_case_data *data, const struct kgb_wire_reply *reply,
		       const char *out, size_t out_bytes, bool exact, struct kgb_err *err)
{
	size_t kinds = !exact ? 1 : data->kase->interface->magnitude ? 3 : 2;

	if (reply->n_outputs != kinds * data->n_results || !fits(reply, out_bytes))
		return kgb_fail(err, KGB_ERR_FAILED,
				"case '%s': the reference returned %u results, expected %zu",
				data->kase->name, reply->n_outputs, kinds * data->n_results);
	release_results(data);
	for (size_t i = 0; i < data->n_results; i++)
		if (keep_result(data, i, reply, out, exact, err) < 0)
			return kgb_ctx(err, "case '%s'", data->kase->name);
	return 0;
}

int kgb_case_data_fetch(struct kgb_case_data *data, struct kgb_trusted *reference, bool exact,
			int64_t deadline_ms, struct kgb_err *err)
{
	KGB_AUTO(free) struct kgb_wire_reply *reply = kgb_xmalloc(sizeof(*reply));
	const struct kgb_shared_arena *memory = &reference->memory;

	if (kgb_case_data_ask(data, reference, exact, deadline_ms, err) < 0 ||
	    kgb_case_data_wait(data, reference, exact, deadline_ms, reply, err) < 0)
		return -1;
	return kgb_case_data_take(data, reply, memory->out, memory->out_bytes, exact, err);
}
