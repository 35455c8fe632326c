/* SPDX-License-Identifier: MIT */
#include "verify/lane/candidate_call.h"

#include <float.h>
#include <math.h>

#include "base/formats/jsonw.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "base/str.h"
#include "base/time.h"
#include "verify/lane/random_results.h"
#include "verify/protocol/record.h"

enum {
	GUARD_BYTES = 64 << 10, /* a kernel without a mask writes up to a block past the end */
	STORAGE_ALIGN = 64,
	JITTER_STEPS = 64, /* storages start at one of so many places, STORAGE_ALIGN apart */
	PAGE_STEPS = 8, /* the same of pages: few, because the arena is copied */
	TIGHT_ALIGN = 16, /* compilers make use of as much */
	SMALL_ALIGN = 512, /* of torch's allocator */
	SMALL_BYTES = 1 << 20, /* larger tensors begin at a page there */
	HOLE_PAGES_MAX = 3,
	/* random streams of a case beyond its arguments' */
	PLACES_STREAM = 1000,
	CALL_STREAM = 2000,
};

static size_t storage_bytes(const struct kgb_tensor_view *view)
{
	return (size_t)view->storage_elements * kgb_dtype_size(view->dtype);
}

size_t kgb_candidate_call_holder(const struct kgb_case *c, size_t i)
{
	for (size_t k = 0; k < c->n_args; k++)
		if (c->args[k].param->result == (int)i)
			return k;
	return SIZE_MAX;
}

/* ---- layout ---- */

static int lay_out_views(const struct kgb_case_data *data, struct kgb_candidate_call *call,
			 struct kgb_err *err)
{
	const struct kgb_case *c = data->kase;

	for (size_t i = 0; i < c->n_args; i++) {
		const struct kgb_arg *arg = &c->args[i];
		if (arg->param->kind == KGB_PARAM_TENSOR)
			call->views[i] = arg->view;
		if (arg->param->kind != KGB_PARAM_OUT)
			continue;
		const struct kgb_tensor_view *truth = &data->results[arg->param->result].view;
		if (kgb_tensor_view_layout(&call->views[i], truth->dtype, truth->sizes, truth->ndim,
					   arg->layout, err) < 0)
			return kgb_ctx(err, "case '%s': parameter '%s'", c->name, arg->param->name);
	}
	return 0;
}

static bool has_storage(const struct kgb_case *c, const struct kgb_candidate_call *call, size_t i)
{
	return c->args[i].param->kind != KGB_PARAM_VALUE && call->views[i].storage_elements > 0;
}

static void shuffle(size_t *order, size_t n, struct kgb_rng *rng)
{
	for (size_t i = 0; i < n; i++) {
		size_t k = (size_t)kgb_rng_int(rng, 0, (int64_t)i);
		order[i] = order[k];
		order[k] = i;
	}
}

static size_t round_up(size_t bytes, size_t granule)
{
	return (bytes + granule - 1) / granule * granule;
}

/* Bytes of a storage up to where its page ends. */
static size_t tight_bytes(const struct kgb_tensor_view *view)
{
	return round_up(storage_bytes(view), TIGHT_ALIGN);
}

/* A random place behind `used` for a storage of so many bytes. What is timed begins where torch
 * would have it begin: a kernel's time depends by a per cent on where in a line or page that is. */
static size_t next_place(const struct kgb_case *c, size_t used, size_t bytes, struct kgb_rng *rng)
{
	size_t align = STORAGE_ALIGN, steps = JITTER_STEPS;

	if (c->mode == KGB_MODE_BENCHMARK) {
		align = bytes > SMALL_BYTES ? KGB_GPU_PAGE : SMALL_ALIGN;
		steps = bytes > SMALL_BYTES ? PAGE_STEPS : JITTER_STEPS;
	}
	return round_up(used, align) + (size_t)kgb_rng_int(rng, 0, (int64_t)steps - 1) * align;
}

/* Storages in random order, one behind the other with guards between. `alike`: so much behind a
 * multiple of STORAGE_ALIGN as its tight place is. */
static void place_loosely(const struct kgb_case *c, const size_t *order, bool alike,
			  struct kgb_rng *rng, struct kgb_candidate_call *call)
{
	size_t used = GUARD_BYTES;

	for (size_t n = 0; n < c->n_args; n++) {
		size_t i = order[n];
		call->at[i] = used;
		if (!has_storage(c, call, i))
			continue;
		size_t bytes = tight_bytes(&call->views[i]);
		call->at[i] = next_place(c, used, bytes, rng);
		if (alike)
			call->at[i] += round_up(bytes, STORAGE_ALIGN) - bytes;
		used = call->at[i] + storage_bytes(&call->views[i]) + GUARD_BYTES;
		used = round_up(used, STORAGE_ALIGN);
	}
	call->arena_bytes = used;
	call->parts[0] = (struct kgb_part){0, used};
	call->n_parts = 1;
}

/* Storages in random order, each at the end of its own pages, with empty pages between. The
 * guard before one ends where its pages begin; behind it there is next to none. */
static void place_tightly(const struct kgb_case *c, const size_t *order, struct kgb_rng *rng,
			  struct kgb_candidate_call *call)
{
	size_t used = 0;

	for (size_t n = 0; n < c->n_args; n++) {
		size_t i = order[n];
		call->at[i] = used;
		if (!has_storage(c, call, i))
			continue;
		size_t bytes = tight_bytes(&call->views[i]);
		used += (size_t)kgb_rng_int(rng, 1, HOLE_PAGES_MAX) * KGB_GPU_PAGE;
		size_t guard = round_up(bytes, KGB_GPU_PAGE) - bytes;
		guard = guard < GUARD_BYTES ? guard : GUARD_BYTES;
		used += round_up(bytes, KGB_GPU_PAGE);
		call->at[i] = used - bytes;
		call->parts[call->n_parts++] =
			(struct kgb_part){call->at[i] - guard, bytes + guard};
	}
	call->arena_bytes = used + KGB_GPU_PAGE;
	if (call->n_parts == 0)
		call->parts[call->n_parts++] = (struct kgb_part){0, GUARD_BYTES};
}

static void place_storages(const struct kgb_case *c, enum kgb_placement arrangement,
			   struct kgb_rng *rng, struct kgb_candidate_call *call)
{
	size_t order[KGB_MAX_ARGS];

	shuffle(order, c->n_args, rng);
	if (arrangement == KGB_PLACED_TIGHT)
		place_tightly(c, order, rng, call);
	else
		place_loosely(c, order, arrangement == KGB_PLACED_ALIKE, rng, call);
}

void kgb_candidate_call_copy_parts(const struct kgb_candidate_call *call, char *to,
				   const char *from)
{
	for (size_t i = 0; i < call->n_parts; i++)
		kgb_parallel_copy(to + call->parts[i].at, from + call->parts[i].at,
				  call->parts[i].bytes);
}

static void add_noise(struct kgb_lane *lane, struct kgb_rng *rng, char *out, size_t len)
{
	while (len > 0) {
		size_t start = (size_t)kgb_rng_int(rng, 0, (int64_t)KGB_NOISE_BYTES - 1);
		size_t n = KGB_NOISE_BYTES - start;
		n = n < len ? n : len;
		memcpy(out, lane->judge->noise + start, n);
		out += n;
		len -= n;
	}
}

void kgb_candidate_call_resize(struct kgb_buf *buf, size_t len)
{
	if (buf->cap <= len) {
		kgb_buf_release(buf);
		*buf = (struct kgb_buf)KGB_BUF_INIT(0);
		buf->ptr = kgb_xmalloc(len + 1);
		buf->cap = len + 1;
	}
	buf->ptr[len] = '\0';
	buf->len = len;
}

/* Numbers of rows become the rows' addresses. The arena lies at the same place in every process
 * that has one. */
static void write_addresses(const struct kgb_case_data *data, const struct kgb_candidate_call *call,
			    size_t i, char *image)
{
	const struct kgb_arg *arg = &data->kase->args[i];
	const struct kgb_tensor_view *rows = &call->views[arg->behind];
	uint64_t first = KGB_ARENA_ADDRESS + call->at[arg->behind];
	uint64_t row_bytes = (uint64_t)rows->sizes[1] * kgb_dtype_size(rows->dtype);
	int64_t n = kgb_tensor_view_numel(&call->views[i]);

	for (int64_t k = 0; k < n; k++) {
		uint64_t address;
		char *p = image + call->at[i] + (size_t)k * sizeof(address);
		memcpy(&address, p, sizeof(address));
		address = first + address * row_bytes;
		memcpy(p, &address, sizeof(address));
	}
}

/* Guards, inputs, poisoned buffers: first here, then in the arena. */
static void write_image(struct kgb_lane *lane, const struct kgb_case_data *data, int repetition,
			struct kgb_candidate_call *call)
{
	const struct kgb_case *c = data->kase;

	kgb_candidate_call_resize(&lane->image, call->arena_bytes);
	for (size_t i = 0; i < call->n_parts; i++)
		add_noise(lane, &call->rng, lane->image.ptr + call->parts[i].at,
			  call->parts[i].bytes);
	for (size_t i = 0; i < c->n_args; i++) {
		char *at = lane->image.ptr + call->at[i];
		if (data->storages[i])
			kgb_parallel_copy(at, data->storages[i], data->storage_bytes[i]);
		/* All bits set is NaN in every floating type; every other time the noise stays. */
		else if (c->args[i].param->kind == KGB_PARAM_OUT && repetition % 2 == 0)
			memset(at, 0xff, storage_bytes(&call->views[i]));
		if (c->args[i].param->into)
			write_addresses(data, call, i, lane->image.ptr);
	}
}

static size_t out_bytes(const struct kgb_case_data *data)
{
	size_t sum = 0;

	for (size_t i = 0; i < data->n_results; i++)
		sum += kgb_tensor_view_bytes(&data->results[i].view) + STORAGE_ALIGN;
	return sum;
}

/* ---- the call ---- */

/* `native`: the operator's own implementation is called, not an entry of a kernel file. */
static int send_call(struct kgb_worker *worker, const struct kgb_case_data *data,
		     const struct kgb_candidate_call_spec *spec, bool native,
		     struct kgb_candidate_call *call, struct kgb_err *err)
{
	const struct kgb_interface *interface = data->kase->interface;
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(KGB_WIRE_REQUEST_MAX);
	struct kgb_jsonw w;

	kgb_jsonw_init(&w, &text, 0);
	kgb_jsonw_put(&w, "{op: 'call', entry: %s, poison: %ld, fill:",
		      native ? interface->baseline : interface->entry,
		      kgb_rng_int(&call->rng, 1, 254));
	if (spec->repetition % 2 == 0)
		kgb_jsonw_i64(&w, 0xff);
	else
		kgb_jsonw_null(&w);
	kgb_jsonw_ki64(&w, "seed", (int64_t)kgb_rng_u32(&call->rng));
	if (spec->window)
		kgb_jsonw_ki64(&w, "window", spec->window);
	const bool tune = data->kase->mode == KGB_MODE_BENCHMARK;
	kgb_jsonw_put(&w, "tune: %hhd, keep: %hhd, skip_all: %hhd, watch: %hhd, skip: [", tune,
		      spec->keep, spec->skip_all, spec->watch);
	if (spec->skip)
		kgb_jsonw_str(&w, spec->skip);
	kgb_jsonw_put(&w, "], parts: [");
	for (size_t i = 0; i < call->n_parts; i++) {
		kgb_jsonw_put(&w, "%ld, %ld", (int64_t)call->parts[i].at,
			      (int64_t)call->parts[i].bytes);
	}
	kgb_jsonw_array_end(&w);
	kgb_request_args(&w, data->kase, call->at, call->views, !native);
	kgb_jsonw_object_end(&w);
	if (text.overflowed)
		return kgb_fail(err, KGB_ERR_LIMIT, "case '%s': its request is too long",
				data->kase->name);
	return kgb_worker_send(worker, text.ptr, NULL, 0, err);
}

/* Contiguous elements of a view into our snapshot of the arena. */
static void *gather(const struct kgb_lane *lane, const struct kgb_candidate_call *call, size_t arg)
{
	const struct kgb_tensor_view *view = &call->views[arg];
	size_t n = kgb_tensor_view_bytes(view);

	if (n == 0)
		return NULL;
	char *values = kgb_xmalloc(n);
	kgb_tensor_view_gather(view, lane->after.ptr + call->at[arg], values);
	return values;
}

/* Results that are returned fresh come through the output memory; only whole ones count. */
static void *take_output(const struct kgb_lane *lane, const struct kgb_truth *truth,
			 const struct kgb_wire_output *output)
{
	const struct kgb_shared_arena *shared = &lane->runner_memory;
	size_t n = kgb_tensor_view_bytes(&truth->view);

	if (n == 0 || (size_t)output->n_bytes != n || output->dtype != truth->view.dtype ||
	    (size_t)output->offset > shared->out_bytes - n)
		return NULL;
	void *values = kgb_xmalloc(n);
	kgb_parallel_copy(values, shared->out + output->offset, n);
	return values;
}

void kgb_candidate_call_take_held(const struct kgb_lane *lane, const struct kgb_case_data *data,
				  struct kgb_candidate_call *call)
{
	for (size_t i = 0; i < data->n_results; i++) {
		size_t holder = kgb_candidate_call_holder(data->kase, i);
		if (holder != SIZE_MAX)
			call->values[i] = gather(lane, call, holder);
	}
}

static void take_snapshot(struct kgb_lane *lane, const struct kgb_case_data *data,
			  struct kgb_candidate_call *call)
{
	kgb_candidate_call_resize(&lane->after, call->arena_bytes);
	kgb_candidate_call_copy_parts(call, lane->after.ptr, lane->runner_memory.arena);
	kgb_candidate_call_take_held(lane, data, call);
	for (size_t i = 0; i < data->n_results && i < call->reply.n_outputs; i++)
		if (kgb_candidate_call_holder(data->kase, i) == SIZE_MAX)
			call->values[i] =
				take_output(lane, &data->results[i], &call->reply.outputs[i]);
}

int kgb_candidate_call_prepare(struct kgb_lane *lane, const struct kgb_case_data *data,
			       const struct kgb_candidate_call_spec *spec,
			       struct kgb_candidate_call *call, struct kgb_err *err)
{
	struct kgb_rng places;

	*call = (struct kgb_candidate_call){0};
	kgb_rng_init(&places, &lane->verdict->seed, data->kase->name,
		     PLACES_STREAM + (uint32_t)spec->places);
	kgb_rng_init(&call->rng, &lane->verdict->seed, data->kase->name,
		     CALL_STREAM + (uint32_t)spec->repetition);
	if (lay_out_views(data, call, err) < 0)
		return -1;
	place_storages(data->kase, spec->arrangement, &places, call);
	write_image(lane, data, spec->repetition, call);
	return 0;
}

int kgb_candidate_call_run(struct kgb_lane *lane, const struct kgb_case_data *data,
			   const struct kgb_candidate_call_spec *spec,
			   struct kgb_candidate_call *call, struct kgb_failure *failure,
			   struct kgb_err *err)
{
	struct kgb_worker *worker = spec->baseline ? &lane->baseline : &lane->runner;
	struct kgb_shared_arena *memory =
		spec->baseline ? &lane->baseline_memory : &lane->runner_memory;
	const bool native = spec->baseline && lane->judge->options->baseline != KGB_BASELINE_KERNEL;
	/* A baseline may have to be compiled first, and is trusted to end. */
	int64_t deadline = spec->baseline ? lane->deadline_ms : kgb_lane_call_deadline(lane);

	if (kgb_candidate_call_prepare(lane, data, spec, call, err) < 0)
		return -1;
	if (kgb_shared_arena_reserve(memory, worker, call->arena_bytes, out_bytes(data), false,
				     deadline, err) < 0)
		return -1;
	kgb_candidate_call_copy_parts(call, memory->arena, lane->image.ptr);
	add_noise(lane, &call->rng, memory->out, out_bytes(data));

	int64_t started_ns = kgb_mono_ns();
	if (send_call(worker, data, spec, native, call, err) < 0)
		return -1;
	int rc;
	if (spec->baseline) /* its trouble is ours */
		rc = kgb_lane_await(worker, deadline, "baseline", &call->reply, err);
	else if (kgb_worker_wait(worker, deadline, &call->reply)) {
		lane->launched |= call->reply.n_launches > 0;
		lane->launched &= call->reply.status != KGB_WIRE_COMPILE;
		rc = kgb_lane_explain_reply(lane, &call->reply, failure);
	} else
		rc = kgb_lane_explain_end(lane, failure, err);
	call->wall_ns = kgb_mono_ns() - started_ns;
	if (rc == 0 && !spec->baseline)
		take_snapshot(lane, data, call);
	return rc;
}

int kgb_candidate_call_measured(struct kgb_lane *lane, const struct kgb_case_data *data,
				const struct kgb_candidate_call_spec *spec,
				struct kgb_candidate_call *call, struct kgb_failure *failure,
				struct kgb_err *err)
{
	KGB_MEASURE(lane, spec->repetition == 0 ? KGB_PHASE_FIRST_CALL : KGB_PHASE_CALL);
	return kgb_candidate_call_run(lane, data, spec, call, failure, err);
}

void kgb_candidate_call_release(struct kgb_candidate_call *call)
{
	for (size_t i = 0; i < KGB_MAX_RESULTS; i++) {
		kgb_free(call->values[i]);
		call->values[i] = NULL;
	}
}

/* ---- checks: 0 fine, 1 refused ---- */

static int check_count(struct kgb_lane *lane, const struct kgb_case_data *data,
		       const struct kgb_candidate_call *call, struct kgb_failure *failure)
{
	const struct kgb_interface *interface = data->kase->interface;
	const struct kgb_wire_reply *reply = &call->reply;
	size_t wanted = interface->n_returned + interface->n_nones;
	int64_t wanted_form = wanted == 0   ? KGB_WIRE_FORM_NONE
			      : wanted == 1 ? KGB_WIRE_FORM_SINGLE
					    : KGB_WIRE_FORM_SEQUENCE;

	if (reply->value == wanted_form && reply->n_outputs == wanted)
		return 0;
	if (reply->value == KGB_WIRE_FORM_SINGLE && reply->n_outputs != 1)
		return kgb_refuse(failure, KGB_CODE_VERIFY_PROTOCOL,
				  "the kernel's process contradicts itself", NULL);
	const char *got =
		reply->value == KGB_WIRE_FORM_NONE ? "None"
		: reply->value == KGB_WIRE_FORM_SINGLE
			? kgb_lane_text(lane, "one %s", reply->outputs[0].type)
			: kgb_lane_text(lane, "a sequence of %u values", reply->n_outputs);
	const char *must =
		wanted == 0            ? "None: its results go into its parameters"
		: interface->is_number ? "one Python number"
		: wanted == 1          ? "one tensor"
		: interface->n_nones == 0
			? kgb_lane_text(lane, "a tuple of %zu tensors", wanted)
			: kgb_lane_text(lane, "a tuple of %zu values, the last %zu of them None",
					wanted, interface->n_nones);
	return kgb_lane_refuse(lane, failure, KGB_CODE_VERIFY_RETURN,
			       kgb_lane_text(lane, "%s must return %s.", interface->entry, must),
			       "%s returned %s", interface->entry, got);
}

static struct kgb_tensor_view view_of(const struct kgb_wire_output *output)
{
	struct kgb_tensor_view view = {.dtype = (enum kgb_dtype)output->dtype,
				       .ndim = output->ndim};

	memcpy(view.sizes, output->sizes, sizeof(view.sizes));
	memcpy(view.strides, output->strides, sizeof(view.strides));
	return view;
}

static bool same_sizes(const struct kgb_wire_output *output, const struct kgb_tensor_view *view)
{
	return output->ndim == view->ndim &&
	       memcmp(output->sizes, view->sizes, (size_t)view->ndim * sizeof(view->sizes[0])) == 0;
}

static int check_type(struct kgb_lane *lane, const struct kgb_truth *truth,
		      const struct kgb_wire_output *output, struct kgb_failure *failure)
{
	KGB_AUTO(buf) struct kgb_buf got = KGB_BUF_INIT(0);
	KGB_AUTO(buf) struct kgb_buf want = KGB_BUF_INIT(0);
	const struct kgb_tensor_view view = view_of(output);

	if (output->kind != KGB_WIRE_TENSOR)
		return kgb_lane_refuse(
			lane, failure, KGB_CODE_VERIFY_TYPE,
			"Return a torch.Tensor on the inputs' device, no subclass and no Python number.",
			"the result is %s, not a plain torch.Tensor on the inputs' device",
			output->type);
	kgb_tensor_view_describe(&view, &got);
	kgb_tensor_view_describe(&truth->view, &want);
	if (output->dtype != truth->view.dtype)
		return kgb_lane_refuse(
			lane, failure, KGB_CODE_VERIFY_DTYPE,
			"Give the output tensor the dtype that PyTorch's type promotion gives.",
			"the result is %s, expected %s", got.ptr, want.ptr);
	if (!same_sizes(output, &truth->view))
		return kgb_lane_refuse(
			lane, failure, KGB_CODE_VERIFY_SHAPE,
			"Compute the output's shape from all inputs (broadcasting, keepdim, empty sizes).",
			"the result is %s, expected %s", got.ptr, want.ptr);
	return 0;
}

/* The argument that is returned for a result that argument `holder` holds: itself, or what holds
 * the addresses of its rows. */
static size_t returned_for(const struct kgb_case *c, size_t holder)
{
	for (size_t i = 0; i < c->n_args; i++)
		if (c->args[i].param->into && c->args[i].behind == holder)
			return i;
	return holder;
}

/* A result that a parameter holds must be returned as that very tensor. */
static int check_held(struct kgb_lane *lane, const struct kgb_case_data *data,
		      const struct kgb_candidate_call *call, size_t i, size_t holder,
		      struct kgb_failure *failure)
{
	const struct kgb_wire_output *output = &call->reply.outputs[i];
	const struct kgb_tensor_view *view = &call->views[holder];
	const char *name = data->kase->args[holder].param->name;
	uint64_t address = call->at[holder] + (uint64_t)view->offset * kgb_dtype_size(view->dtype);
	bool same = output->kind == KGB_WIRE_TENSOR && output->dtype == view->dtype &&
		    same_sizes(output, view);

	for (int d = 0; same && d < view->ndim; d++)
		same = view->sizes[d] <= 1 || output->strides[d] == view->strides[d];
	if (same && kgb_tensor_view_numel(view) > 0)
		same = output->where == KGB_WIRE_ARENA && output->address == address;
	if (same)
		return 0;
	return kgb_lane_refuse(
		lane, failure, KGB_CODE_VERIFY_ALIAS,
		kgb_lane_text(
			lane,
			"Write the result into '%s' and return '%s' itself, with its own strides.",
			name, name),
		"the returned tensor is not the argument '%s'", name);
}

static int check_number(struct kgb_lane *lane, const struct kgb_truth *truth,
			const struct kgb_wire_output *output, struct kgb_failure *failure)
{
	const enum kgb_dtype dtype = truth->view.dtype;
	const char *want = dtype == KGB_DTYPE_BOOL    ? "bool"
			   : dtype == KGB_DTYPE_INT64 ? "int"
						      : "float";

	if (output->kind == KGB_WIRE_NUMBER && output->dtype == dtype)
		return 0;
	return kgb_lane_refuse(lane, failure, KGB_CODE_VERIFY_TYPE,
			       "Return a Python bool, int or float, as the tensor's type says.",
			       "the result is %s, expected a Python %s", output->type, want);
}

/* Strides of dimensions of fewer than `least_size` elements do not count: those of size 1 matter
 * only where the caller asks for strides. */
static int check_strides(struct kgb_lane *lane, const struct kgb_truth *truth,
			 const struct kgb_wire_output *output, int64_t least_size, const char *hint,
			 struct kgb_failure *failure)
{
	for (int d = 0; d < output->ndim; d++)
		if (output->sizes[d] >= least_size && output->strides[d] != truth->strides[d])
			return kgb_lane_refuse(lane, failure, KGB_CODE_VERIFY_STRIDES, hint,
					       "stride %d of the result is %lld, expected %lld", d,
					       (long long)output->strides[d],
					       (long long)truth->strides[d]);
	return 0;
}

/* Unwritten memory has PyTorch's strides, overlapping ones too. */
static int check_unwritten(struct kgb_lane *lane, const struct kgb_truth *truth,
			   const struct kgb_wire_output *output, struct kgb_failure *failure)
{
	if (check_strides(lane, truth, output, 0,
			  "The result must have the strides that were asked for.", failure) != 0)
		return 1;
	if (output->where == KGB_WIRE_FRESH || kgb_tensor_view_numel(&truth->view) == 0)
		return 0;
	return kgb_refuse(failure, KGB_CODE_VERIFY_ALIAS,
			  "the result shares memory with an argument",
			  "Allocate new memory for the result.");
}

/* A view where PyTorch gives one: the same memory of the same argument with the same strides. */
static int check_view(struct kgb_lane *lane, const struct kgb_case_data *data,
		      const struct kgb_candidate_call *call, size_t i, struct kgb_failure *failure)
{
	const struct kgb_wire_output *output = &call->reply.outputs[i];
	const struct kgb_truth *truth = &data->results[i];
	const char *name = data->kase->args[truth->alias_arg].param->name;

	if (output->where != KGB_WIRE_ARENA ||
	    output->address != call->at[truth->alias_arg] + truth->alias_at)
		return kgb_lane_refuse(
			lane, failure, KGB_CODE_VERIFY_ALIAS,
			kgb_lane_text(lane, "Return a view of '%s', which shares its memory.",
				      name),
			"the result is not the part of '%s' that it must be", name);
	return check_strides(lane, truth, output, 2,
			     "The view must walk through memory as PyTorch's does.", failure);
}

static int check_fresh(struct kgb_lane *lane, const struct kgb_case_data *data,
		       const struct kgb_candidate_call *call, size_t i, struct kgb_failure *failure)
{
	const struct kgb_interface *interface = data->kase->interface;
	const struct kgb_wire_output *output = &call->reply.outputs[i];
	const struct kgb_truth *truth = &data->results[i];

	if (interface->is_number)
		return check_number(lane, truth, output, failure);
	if (check_type(lane, truth, output, failure) != 0)
		return 1;
	if (interface->is_unwritten)
		return check_unwritten(lane, truth, output, failure);
	if (kgb_tensor_view_numel(&truth->view) == 0)
		return 0;
	if (lane->judge->spec.triton == KGB_TRITON_NONE && truth->is_alias)
		return check_view(lane, data, call, i, failure);
	if (output->where != KGB_WIRE_FRESH)
		return kgb_refuse(
			failure, KGB_CODE_VERIFY_ALIAS, "the result shares memory with an argument",
			"Allocate a new tensor for the result (torch.empty) instead of returning an input or a "
			"view of it.");
	const struct kgb_tensor_view view = kgb_wire_view(output);
	if (kgb_tensor_view_may_overlap(&view))
		return kgb_refuse(
			failure, KGB_CODE_VERIFY_LAYOUT, "elements of the result overlap in memory",
			"Return a tensor of its own with one place per element, not an expanded one.");
	if (!call->values[i])
		return kgb_refuse(failure, KGB_CODE_VERIFY_PROTOCOL,
				  "the result's elements were not delivered", NULL);
	if (!interface->is_laid_out[i])
		return 0;
	return check_strides(lane, truth, output, 2,
			     "The result must lie in memory as the operator says.", failure);
}

/* Bytes from the first element to the end of the last one; strides that reach too far do not count.
 */
static uint64_t reach_of(const struct kgb_wire_output *output)
{
	int64_t reach = kgb_wire_reach(output);

	return reach > 0 ? (uint64_t)reach * kgb_dtype_size((enum kgb_dtype)output->dtype)
			 : (uint64_t)output->n_bytes;
}

/* Do two fresh results lie in the same memory? */
static bool overlap(const struct kgb_wire_output *a, const struct kgb_wire_output *b)
{
	return a->kind == KGB_WIRE_TENSOR && b->kind == KGB_WIRE_TENSOR && a->n_bytes > 0 &&
	       b->n_bytes > 0 && a->where == KGB_WIRE_FRESH && b->where == KGB_WIRE_FRESH &&
	       a->address < b->address + reach_of(b) && b->address < a->address + reach_of(a);
}

static int check_results(struct kgb_lane *lane, const struct kgb_case_data *data,
			 const struct kgb_candidate_call *call, struct kgb_failure *failure)
{
	const struct kgb_interface *interface = data->kase->interface;
	const struct kgb_wire_output *outputs = call->reply.outputs;
	const size_t n = interface->n_returned;

	for (size_t i = n; i < n + interface->n_nones; i++)
		if (outputs[i].kind != KGB_WIRE_NONE)
			return kgb_lane_refuse(
				lane, failure, KGB_CODE_VERIFY_RETURN,
				"There is no such result here: return None in its place.",
				"value %zu of what %s returned is %s", i, interface->entry,
				outputs[i].type);
	for (size_t i = 0; i < n; i++) {
		size_t holder = kgb_candidate_call_holder(data->kase, i);
		int rc = holder == SIZE_MAX ? check_fresh(lane, data, call, i, failure)
					    : check_held(lane, data, call, i,
							 returned_for(data->kase, holder), failure);
		if (rc != 0)
			return rc;
		for (size_t k = 0; k < i; k++)
			if (overlap(&outputs[i], &outputs[k]))
				return kgb_refuse(failure, KGB_CODE_VERIFY_ALIAS,
						  "two results share memory",
						  "Allocate a tensor of its own for each result.");
	}
	return 0;
}

/* The change at byte `at` of the arena, as a failure. */
static int explain_change(struct kgb_lane *lane, const struct kgb_case_data *data,
			  const struct kgb_candidate_call *call, size_t at,
			  struct kgb_failure *failure)
{
	static const char write_hint[] =
		"Write to the result's elements only; respect strides and the storage offset.";
	const struct kgb_case *c = data->kase;
	const char *near = "outside";
	size_t distance = SIZE_MAX;

	for (size_t i = 0; i < c->n_args; i++) {
		const struct kgb_param *param = c->args[i].param;
		const size_t begin = call->at[i];
		size_t n = param->kind == KGB_PARAM_VALUE ? 0 : storage_bytes(&call->views[i]);
		if (n == 0)
			continue;
		if (at >= begin && at < begin + n && param->result >= 0)
			return kgb_lane_refuse(
				lane, failure, KGB_CODE_VERIFY_STRAY_WRITE, write_hint,
				"memory of '%s' between its elements was overwritten (byte %zu of its "
				"storage)",
				param->name, at - begin);
		if (at >= begin && at < begin + n)
			return kgb_lane_refuse(
				lane, failure, KGB_CODE_VERIFY_MUTATION, write_hint,
				"the input '%s' was modified (byte %zu of its storage)",
				param->name, at - begin);
		size_t away = at < begin ? begin - at : at - (begin + n) + 1;
		if (away >= distance)
			continue;
		distance = away;
		near = kgb_lane_text(lane, "%zu bytes %s '%s'", away,
				     at < begin ? "before" : "past the end of", param->name);
	}
	return kgb_lane_refuse(
		lane, failure, KGB_CODE_VERIFY_OUT_OF_BOUNDS,
		"Mask every tl.store: offsets must stay below the number of elements.",
		"memory was overwritten %s", near);
}

/* Outside the elements that hold results nothing may have changed. */
static int check_memory(struct kgb_lane *lane, const struct kgb_case_data *data,
			const struct kgb_candidate_call *call, struct kgb_failure *failure)
{
	for (size_t i = 0; i < data->n_results; i++) {
		size_t arg = kgb_candidate_call_holder(data->kase, i);
		if (arg != SIZE_MAX)
			kgb_tensor_view_copy(&call->views[arg], lane->image.ptr + call->at[arg],
					     lane->after.ptr + call->at[arg]);
	}
	for (size_t i = 0; i < call->n_parts; i++) {
		size_t at = call->parts[i].at;
		if (kgb_parallel_equal(lane->after.ptr + at, lane->image.ptr + at,
				       call->parts[i].bytes))
			continue;
		while (lane->after.ptr[at] == lane->image.ptr[at])
			at++;
		return explain_change(lane, data, call, at, failure);
	}
	return 0;
}

bool kgb_candidate_call_check(struct kgb_lane *lane, const struct kgb_case_data *data,
			      const struct kgb_candidate_call *call, struct kgb_failure *failure)
{
	return check_memory(lane, data, call, failure) == 0 &&
	       check_count(lane, data, call, failure) == 0 &&
	       check_results(lane, data, call, failure) == 0;
}

bool kgb_candidate_call_shares_memory(const struct kgb_case_data *data,
				      const struct kgb_candidate_call *a,
				      const struct kgb_candidate_call *b)
{
	for (size_t i = 0; i < data->n_results; i++)
		for (size_t k = 0; k < data->n_results; k++)
			if (i < a->reply.n_outputs && k < b->reply.n_outputs &&
			    overlap(&a->reply.outputs[i], &b->reply.outputs[k]))
				return true;
	return false;
}

/* Of what is rounded in the end: computed in float32, or with steps rounded to the case's type. */
static double eps_before_rounding(const struct kgb_case *c)
{
	bool by_step = c->interface->tolerance.before_rounding == KGB_ACCUMULATE_RESULT;

	return by_step && kgb_dtype_is_float(c->dtype) ? kgb_dtype_eps(c->dtype)
						       : 4 * (double)FLT_EPSILON;
}

bool kgb_candidate_call_compare(const struct kgb_case_data *data,
				const struct kgb_candidate_call *call, size_t i,
				struct kgb_compare *out)
{
	const struct kgb_truth *truth = &data->results[i];

	const struct kgb_interface *interface = data->kase->interface;

	*out = (struct kgb_compare){.first_wrong = -1, .reported = -1};
	if (interface->laws[i].kind != KGB_RANDOM_NONE) {
		kgb_random_result_check(data, call->values, i, out);
		return out->ok;
	}
	if (!truth->native)
		return true;
	if (!call->values[i])
		return false;
	const struct kgb_tolerance *tolerance = &interface->tolerance;
	if (interface->is_rounded[i] && truth->exact)
		kgb_compare_rounded(&truth->view, call->values[i], truth->native, truth->exact,
				    truth->magnitude, eps_before_rounding(data->kase), tolerance,
				    out);
	else
		kgb_compare(&truth->view, call->values[i], truth->native, truth->exact,
			    truth->magnitude, tolerance, out);
	return out->ok;
}

/* What is most likely wrong, from the kind of wrongness. */
static const char *mismatch_hint(const struct kgb_case *c, const struct kgb_compare *compare)
{
	if (isnan(compare->got) && !isnan(compare->expected) && kgb_case_has_unread(c))
		return "What the operator does not read holds NaN here (between columns or elements, in the other triangle, in "
		       "slots without a token): mask it off when loading, as NaN times 0 is NaN.";
	if (isnan(compare->got) && !isnan(compare->expected) && c->mode != KGB_MODE_SPECIAL)
		return "Fresh memory is filled with NaN here, so these elements were probably never written, or computed "
		       "from masked-off loads: check the mask and the grid (sizes that are no multiple of the block) and "
		       "'other=' of tl.load.";
	if (compare->n_wrong > 0 && compare->got == 0 && compare->expected == 0)
		return "A zero has the wrong sign here, and it counts: -0 must stay -0 where the operator's semantics say so (comparisons "
		       "and sums like x + 0.0 lose it).";
	if (c->interface->tolerance.is_exact)
		return "Copies and conversions must be exact: every element the one that is expected, rounded once to nearest, ties to even, "
		       "where the type has fewer bits.";
	if (c->mode == KGB_MODE_SPECIAL)
		return "The inputs contain infinities, NaN, zeros of both signs and the largest and smallest numbers: "
		       "the result must be what PyTorch gives for them.";
	for (size_t i = 0; i < c->n_args; i++)
		if (c->args[i].layout && strcmp(c->args[i].layout, "contiguous") != 0)
			return "An argument is not contiguous here: address elements through the tensor's strides and "
			       "storage offset, for outputs too.";
	if (compare->n_wrong == 0 || c->mode == KGB_MODE_OUTLIER)
		return "The error is larger than that of a faithful implementation: accumulate in float32 (or float64 for "
		       "float64 inputs) and convert once at the end.";
	return "Compare with the operator's definition on exactly these shapes and arguments.";
}

void kgb_candidate_call_explain_mismatch(struct kgb_lane *lane, const struct kgb_case_data *data,
					 size_t i, const struct kgb_compare *compare,
					 struct kgb_failure *failure)
{
	const struct kgb_truth *truth = &data->results[i];
	const char *which = data->n_results > 1 ? kgb_lane_text(lane, "result %zu: ", i) : "";

	*failure = (struct kgb_failure){
		.code = KGB_CODE_VERIFY_MISMATCH,
		.hint = mismatch_hint(data->kase, compare),
		.has_values = compare->reported >= 0,
		.index_is_first = compare->reported == compare->first_wrong,
		.ndim = truth->view.ndim,
		.expected = compare->expected,
		.got = compare->got,
		.n_wrong = compare->n_wrong,
		.n_elements = compare->n_elements,
		.max_abs_err = compare->max_abs_err,
		.allowed_abs_err = compare->allowed_abs_err,
	};
	if (compare->reported >= 0)
		kgb_unravel(compare->reported, truth->view.sizes, truth->view.ndim, failure->index);
	if (data->kase->interface->laws[i].kind != KGB_RANDOM_NONE &&
	    data->kase->interface->laws[i].kind != KGB_RANDOM_PRODUCT) {
		kgb_random_result_explain(lane, data, i, compare, failure);
		return;
	}
	if (compare->n_wrong > 0)
		failure->message =
			kgb_lane_text(lane, "%s%lld of %lld elements are wrong", which,
				      (long long)compare->n_wrong, (long long)compare->n_elements);
	else
		failure->message = kgb_lane_text(
			lane,
			"%sthe result as a whole is too inaccurate: relative error %.3g, allowed %.3g",
			which, compare->rms_err, compare->allowed_rms_err);
}

bool kgb_candidate_call_check_values(struct kgb_lane *lane, const struct kgb_case_data *data,
				     const struct kgb_candidate_call *call,
				     struct kgb_failure *failure)
{
	for (size_t i = 0; i < data->n_results; i++) {
		struct kgb_compare compare;
		if (kgb_candidate_call_compare(data, call, i, &compare)) {
			if (data->results[i].exact)
				kgb_verdict_note_closest(lane->verdict, data->kase->name,
							 compare.share);
			continue;
		}
		kgb_candidate_call_explain_mismatch(lane, data, i, &compare, failure);
		return false;
	}
	return true;
}

bool kgb_candidate_call_same_bits(const struct kgb_case_data *data,
				  const struct kgb_candidate_call *a,
				  const struct kgb_candidate_call *b)
{
	for (size_t i = 0; i < data->n_results; i++) {
		size_t n = kgb_tensor_view_bytes(&data->results[i].view);
		if (a->values[i] && b->values[i] &&
		    !kgb_parallel_equal(a->values[i], b->values[i], n))
			return false;
	}
	return true;
}
