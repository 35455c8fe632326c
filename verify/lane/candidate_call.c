/* SPDX-License-Identifier: MIT */
#include "verify/lane/candidate_call.h"

#include "base/formats/jsonw.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "base/str.h"
#include "base/time.h"
#include "verify/protocol/record.h"

enum {
	GUARD_BYTES = 64 << 10, /* a kernel without a mask writes up to a block past the end */
	NOISE_PIECES = 4, /* that are worth a thread */
	STORAGE_ALIGN = 64,
	JITTER_STEPS = 64, /* number of places, one alignment apart, where a storage may start */
	PAGE_STEPS = 8, /* the same for storages that start at a page: few, because the arena is
			   copied */
	TIGHT_ALIGN = 16, /* alignment that compilers use */
	SMALL_ALIGN = 512, /* alignment of small tensors in torch's allocator, in bytes */
	SMALL_BYTES = 1 << 20, /* torch's allocator starts larger tensors at a page */
	HOLE_PAGES_MAX = 3,
	BEGINS_OF = 3, /* one storage in so many begins at a page */
	/* random streams of a case; its arguments use the numbers below */
	ENDS_STREAM = 999,
	PLACES_STREAM = 1000,
	CALL_STREAM = 2000,
};

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
	return c->args[i].param->kind != KGB_PARAM_VALUE && !c->args[i].is_repeated &&
	       call->views[i].storage_elements > 0;
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

/* Bytes from the start of a storage to the end of its page in the tight layout. */
static size_t tight_bytes(const struct kgb_tensor_view *view)
{
	return round_up(kgb_tensor_view_storage_bytes(view), TIGHT_ALIGN);
}

/* A random place behind `used` for a storage of this size. Storages of timed calls begin as in
 * torch's allocator, because the place in a line or page changes a kernel's time by a per cent. */
static size_t next_place(const struct kgb_case *c, size_t used, size_t bytes, struct kgb_rng *rng)
{
	size_t align = STORAGE_ALIGN, steps = JITTER_STEPS;

	if (c->mode == KGB_MODE_BENCHMARK) {
		align = bytes > SMALL_BYTES ? KGB_GPU_PAGE : SMALL_ALIGN;
		steps = bytes > SMALL_BYTES ? PAGE_STEPS : JITTER_STEPS;
	}
	return round_up(used, align) + (size_t)kgb_rng_int(rng, 0, (int64_t)steps - 1) * align;
}

/* How the storages of a case lie in its calls. */
struct places {
	enum kgb_placement arrangement;
	bool begins[KGB_MAX_ARGS]; /* at a page, in the tight layout */
	bool moves[KGB_MAX_ARGS]; /* has a second place */
	bool takes_second; /* this call takes it */
};

/* The next place behind *used for a storage, with a guard. Alike: as far behind a multiple of
 * STORAGE_ALIGN as in the tight layout, and at one of SMALL_ALIGN if it begins at a page there. */
static size_t take_place(const struct kgb_case *c, const struct places *places, size_t i,
			 const struct kgb_tensor_view *view, struct kgb_rng *rng, size_t *used)
{
	const size_t bytes = tight_bytes(view);
	size_t at = next_place(c, *used, bytes, rng);

	if (places->arrangement == KGB_PLACED_ALIKE)
		at = places->begins[i] ? round_up(at, SMALL_ALIGN)
				       : at + round_up(bytes, STORAGE_ALIGN) - bytes;
	*used = round_up(at + kgb_tensor_view_storage_bytes(view) + GUARD_BYTES, STORAGE_ALIGN);
	return at;
}

/* Place the storages in random order, one behind the other with guards between them. */
static void place_loosely(const struct kgb_case *c, const size_t *order,
			  const struct places *places, struct kgb_rng *rng,
			  struct kgb_candidate_call *call)
{
	size_t used = GUARD_BYTES;

	for (size_t n = 0; n < c->n_args; n++) {
		const size_t i = order[n];
		call->at[i] = used;
		const int n_places = !has_storage(c, call, i) ? 0 : places->moves[i] ? 2 : 1;
		for (int k = 0; k < n_places; k++) {
			const size_t at = take_place(c, places, i, &call->views[i], rng, &used);
			if (k == 0 || places->takes_second)
				call->at[i] = at;
		}
	}
	call->arena_bytes = used;
	call->parts[0] = (struct kgb_part){.bytes = used, .address = KGB_ARENA_ADDRESS};
	call->n_parts = 1;
}

/* kgb-exec takes KGB_EXEC_RANGES parts, one of which may be all of a window. */
static uint64_t draw_window(const struct kgb_case *c, struct kgb_rng *rng)
{
	const int64_t n = c->n_args < KGB_EXEC_RANGES ? KGB_ARENA_WINDOWS : 1;

	return kgb_arena_window_at((uint64_t)kgb_rng_int(rng, 0, n - 1));
}

/* Place the storages in random order, each at the end of its own pages, or where they begin, with
 * empty pages between them, in a window drawn for it. The guard before a storage at the end reaches
 * back to the start of its pages at most. Fewer than TIGHT_ALIGN bytes of its part follow a
 * storage. */
static void place_tightly(const struct kgb_case *c, const size_t *order, const bool *begins,
			  struct kgb_rng *rng, struct kgb_candidate_call *call)
{
	size_t used = 0;

	for (size_t n = 0; n < c->n_args; n++) {
		size_t i = order[n];
		call->at[i] = used;
		if (!has_storage(c, call, i))
			continue;
		const uint64_t window = draw_window(c, rng);
		size_t bytes = tight_bytes(&call->views[i]);
		used += (size_t)kgb_rng_int(rng, 1, HOLE_PAGES_MAX) * KGB_GPU_PAGE;
		const size_t rest = round_up(bytes, KGB_GPU_PAGE) - bytes;
		const size_t guard = begins[i] ? 0 : rest < GUARD_BYTES ? rest : GUARD_BYTES;
		call->at[i] = used + (begins[i] ? 0 : rest);
		used += bytes + rest;
		call->addresses[i] = window + call->at[i];
		call->parts[call->n_parts++] =
			(struct kgb_part){.at = call->at[i] - guard,
					  .bytes = bytes + guard,
					  .address = call->addresses[i] - guard,
					  .is_input = !kgb_case_changes(c, i)};
	}
	call->arena_bytes = used + KGB_GPU_PAGE;
	if (call->n_parts == 0)
		call->parts[call->n_parts++] =
			(struct kgb_part){.bytes = GUARD_BYTES, .address = KGB_ARENA_ADDRESS};
}

static void place_storages(const struct kgb_case *c, const struct places *places,
			   struct kgb_rng *rng, struct kgb_candidate_call *call)
{
	size_t order[KGB_MAX_ARGS];

	shuffle(order, c->n_args, rng);
	if (places->arrangement == KGB_PLACED_TIGHT)
		place_tightly(c, order, places->begins, rng, call);
	else
		place_loosely(c, order, places, rng, call);
	for (size_t i = 0; i < c->n_args; i++)
		if (call->addresses[i] == 0)
			call->addresses[i] = KGB_ARENA_ADDRESS + call->at[i];
	for (size_t i = 0; i < c->n_args; i++) {
		if (!c->args[i].is_repeated)
			continue;
		call->at[i] = call->at[c->args[i].same_as];
		call->addresses[i] = call->addresses[c->args[i].same_as];
	}
}

void kgb_candidate_call_copy_parts(const struct kgb_candidate_call *call, char *to,
				   const char *from)
{
	for (size_t i = 0; i < call->n_parts; i++)
		kgb_parallel_copy(to + call->parts[i].at, from + call->parts[i].at,
				  call->parts[i].bytes);
}

/* Pieces of noise, one behind the other. */
struct noise {
	const char *noise;
	char *out;
	size_t len;
	const size_t *starts; /* of each piece in the noise */
};

/* Pieces begin at multiples of KGB_NOISE_BYTES; the noise is a ring. */
static void add_pieces(void *payload, int64_t begin, int64_t end)
{
	const struct noise *noise = payload;

	for (int64_t i = begin; i < end; i++) {
		const size_t at = (size_t)i * KGB_NOISE_BYTES;
		const size_t left = noise->len - at;
		const size_t n = left < KGB_NOISE_BYTES ? left : KGB_NOISE_BYTES;
		const size_t to_end = KGB_NOISE_BYTES - noise->starts[i];
		const size_t first = n < to_end ? n : to_end;
		memcpy(noise->out + at, noise->noise + noise->starts[i], first);
		memcpy(noise->out + at + first, noise->noise, n - first);
	}
}

static void add_noise(struct kgb_lane *lane, struct kgb_rng *rng, char *out, size_t len)
{
	const size_t n = (len + KGB_NOISE_BYTES - 1) / KGB_NOISE_BYTES;
	KGB_AUTO(free) size_t *starts = kgb_xcalloc(n + 1, sizeof(*starts));
	struct noise noise = {
		.noise = lane->judge->noise, .out = out, .len = len, .starts = starts};

	for (size_t i = 0; i < n; i++)
		starts[i] = (size_t)kgb_rng_int(rng, 0, (int64_t)KGB_NOISE_BYTES - 1);
	kgb_parallel_for((int64_t)n, NOISE_PIECES, add_pieces, &noise);
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

/* Replace numbers of rows by the rows' addresses. The arena has the same address in every
 * process. */
static void write_addresses(const struct kgb_case_data *data, const struct kgb_candidate_call *call,
			    size_t i, char *image)
{
	const struct kgb_arg *arg = &data->kase->args[i];
	const struct kgb_tensor_view *rows = &call->views[arg->behind];
	uint64_t first = call->addresses[arg->behind];
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

/* What the storage of an argument has before the call. */
enum content {
	CONTENT_NOISE, /* but for the elements of a part of another storage */
	CONTENT_INPUT,
	CONTENT_ONES, /* NaN in every floating type */
};

static enum content content_of(const struct kgb_case_data *data, size_t i, int repetition)
{
	const struct kgb_arg *arg = &data->kase->args[i];

	if (data->storages[i] && !arg->is_part)
		return CONTENT_INPUT;
	return arg->param->kind == KGB_PARAM_OUT && repetition % 2 == 0 ? CONTENT_ONES
									: CONTENT_NOISE;
}

/* The first storage with other content than noise that ends behind `at`; `end` without one. */
static size_t next_content(const struct kgb_case_data *data, const struct kgb_candidate_call *call,
			   int repetition, size_t at, size_t end, size_t *bytes)
{
	size_t next = end;

	*bytes = 0;
	for (size_t i = 0; i < data->kase->n_args; i++) {
		const size_t n = kgb_tensor_view_storage_bytes(&call->views[i]);
		if (content_of(data, i, repetition) == CONTENT_NOISE || call->at[i] + n <= at ||
		    call->at[i] >= next)
			continue;
		next = call->at[i];
		*bytes = n;
	}
	return next;
}

/* Write noise to a part, where nothing else is written. */
static void write_noise(struct kgb_lane *lane, const struct kgb_case_data *data, int repetition,
			struct kgb_candidate_call *call, const struct kgb_part *part, char *image)
{
	const size_t end = part->at + part->bytes;
	size_t at = part->at, bytes;

	while (at < end) {
		const size_t next = next_content(data, call, repetition, at, end, &bytes);
		if (next > at)
			add_noise(lane, &call->rng, image + at, next - at);
		at = next + bytes;
	}
}

/* Write guards, inputs and poisoned buffers to an arena. */
static void write_image(struct kgb_lane *lane, const struct kgb_case_data *data, int repetition,
			struct kgb_candidate_call *call, char *image)
{
	const struct kgb_case *c = data->kase;

	for (size_t i = 0; i < call->n_parts; i++)
		write_noise(lane, data, repetition, call, &call->parts[i], image);
	for (size_t i = 0; i < c->n_args; i++) {
		char *at = image + call->at[i];
		const enum content content = content_of(data, i, repetition);
		if (content == CONTENT_INPUT)
			kgb_parallel_copy(at, data->storages[i], data->storage_bytes[i]);
		else if (content == CONTENT_ONES)
			memset(at, 0xff, kgb_tensor_view_storage_bytes(&call->views[i]));
		else if (data->storages[i])
			kgb_tensor_view_copy(&call->views[i], data->storages[i], at);
		if (c->args[i].param->into)
			write_addresses(data, call, i, image);
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

/* `native`: call torch's implementation of the operator, not an entry of a kernel file. */
static int send_call(struct kgb_worker *worker, const struct kgb_case_data *data,
		     const struct kgb_candidate_call_spec *spec, bool native,
		     struct kgb_candidate_call *call, struct kgb_err *err)
{
	const struct kgb_interface *interface = data->kase->interface;
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(KGB_WIRE_REQUEST_MAX);
	size_t offsets[KGB_MAX_ARGS];
	struct kgb_jsonw w;

	for (size_t i = 0; i < data->kase->n_args; i++)
		offsets[i] = call->addresses[i] - KGB_ARENA_ADDRESS;
	kgb_jsonw_init(&w, &text, 0);
	kgb_jsonw_put(&w, "{op: %s, repeat_us: %ld, entry: %s, poison: %ld, fill:",
		      spec->repeat_us > 0 ? "repeat" : "call", (int64_t)spec->repeat_us,
		      native ? interface->baseline : interface->entry,
		      kgb_rng_int(&call->rng, 1, 254));
	call->fresh_is_ones = spec->repetition % 2 == 0;
	if (call->fresh_is_ones)
		kgb_jsonw_i64(&w, 0xff);
	else
		kgb_jsonw_null(&w);
	kgb_jsonw_ki64(&w, "seed", (int64_t)kgb_rng_u32(&call->rng));
	if (spec->window)
		kgb_jsonw_ki64(&w, "window", spec->window);
	const struct kgb_call_style *style = &data->kase->style;
	const bool tune = data->kase->mode == KGB_MODE_BENCHMARK;
	const bool takes = !call->without_values, brings_back = !call->without_arena;
	kgb_jsonw_put(
		&w,
		"tune: %hhd, only_records: %hhd, keep: %ld, take: %hhd, back: %hhd, tuples: %hhd, "
		"parameters: %hhd, grad: %ld, default_type: %ld, caller: %ld, parts: [",
		tune, spec->only_records, (int64_t)spec->keeps, takes, brings_back,
		style->passes_tuples, style->passes_parameters, (int64_t)style->grad_mode,
		(int64_t)style->default_type, (int64_t)style->caller);
	for (size_t i = 0; i < call->n_parts; i++) {
		kgb_jsonw_put(&w, "%ld, %ld", (int64_t)call->parts[i].at,
			      (int64_t)call->parts[i].bytes);
	}
	kgb_jsonw_array_end(&w);
	kgb_request_args(&w, data->kase, offsets, call->views, !native);
	kgb_jsonw_object_end(&w);
	if (text.overflowed)
		return kgb_fail(err, KGB_ERR_LIMIT, "case '%s': its request is too long",
				data->kase->name);
	return kgb_worker_send(worker, text.ptr, NULL, 0, err);
}

/* The elements of an argument after the call, contiguous; NULL: it has none. */
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

/* A copy of a fresh result from the output memory; NULL: it has no elements, or is incomplete. */
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
	if (call->without_values)
		return;
	kgb_candidate_call_take_held(lane, data, call);
	for (size_t i = 0; i < data->n_results && i < call->reply.n_outputs; i++)
		if (kgb_candidate_call_holder(data->kase, i) == SIZE_MAX)
			call->values[i] =
				take_output(lane, &data->results[i], &call->reply.outputs[i]);
}

static int lay_out(const struct kgb_lane *lane, const struct kgb_case_data *data,
		   const struct kgb_candidate_call_spec *spec, struct kgb_candidate_call *call,
		   struct kgb_err *err)
{
	struct places places = {.arrangement = spec->arrangement, .takes_second = spec->moves_some};
	struct kgb_rng ends, rng;

	*call = (struct kgb_candidate_call){0};
	kgb_rng_init(&ends, &lane->verdict->seed, data->kase->name, ENDS_STREAM);
	for (size_t i = 0; i < data->kase->n_args; i++)
		places.begins[i] = kgb_rng_int(&ends, 0, BEGINS_OF - 1) == 0;
	const bool moves_some = data->kase->mode != KGB_MODE_BENCHMARK && kgb_rng_int(&ends, 0, 1);
	for (size_t i = 0; i < data->kase->n_args; i++)
		places.moves[i] = moves_some && kgb_rng_int(&ends, 0, 1);
	kgb_rng_init(&rng, &lane->verdict->seed, data->kase->name,
		     PLACES_STREAM + (uint32_t)spec->places);
	kgb_rng_init(&call->rng, &lane->verdict->seed, data->kase->name,
		     CALL_STREAM + (uint32_t)spec->repetition);
	if (lay_out_views(data, call, err) < 0)
		return -1;
	place_storages(data->kase, &places, &rng, call);
	return 0;
}

static void write_lane_image(struct kgb_lane *lane, const struct kgb_case_data *data,
			     int repetition, struct kgb_candidate_call *call)
{
	kgb_candidate_call_resize(&lane->image, call->arena_bytes);
	write_image(lane, data, repetition, call, lane->image.ptr);
}

int kgb_candidate_call_prepare(struct kgb_lane *lane, const struct kgb_case_data *data,
			       const struct kgb_candidate_call_spec *spec,
			       struct kgb_candidate_call *call, struct kgb_err *err)
{
	if (lay_out(lane, data, spec, call, err) < 0)
		return -1;
	write_lane_image(lane, data, spec->repetition, call);
	return 0;
}

int kgb_candidate_call_run(struct kgb_lane *lane, const struct kgb_case_data *data,
			   const struct kgb_candidate_call_spec *spec,
			   struct kgb_candidate_call *call, struct kgb_failure *failure,
			   struct kgb_err *err)
{
	struct kgb_worker *worker = spec->baseline ? &lane->baseline->worker : &lane->runner;
	struct kgb_shared_arena *memory =
		spec->baseline ? &lane->baseline->memory : &lane->runner_memory;
	const bool native = spec->baseline && lane->judge->options->baseline != KGB_BASELINE_KERNEL;
	if (lay_out(lane, data, spec, call, err) < 0)
		return -1;
	/* Benchmarks are checked in replays only, and so are the results of calls without launches.
	 */
	call->without_arena = spec->baseline || data->kase->mode == KGB_MODE_BENCHMARK;
	call->without_values = call->without_arena || spec->only_records;
	const size_t taken = call->without_values ? 0 : out_bytes(data);
	if (kgb_shared_arena_reserve(memory, worker, call->arena_bytes, taken, false,
				     kgb_lane_call_deadline(lane) - kgb_mono_ms(), err) < 0)
		return -1;
	if (call->without_arena) {
		write_image(lane, data, spec->repetition, call, memory->arena);
	} else {
		write_lane_image(lane, data, spec->repetition, call);
		kgb_candidate_call_copy_parts(call, memory->arena, lane->image.ptr);
	}
	add_noise(lane, &call->rng, memory->out, taken);

	if (send_call(worker, data, spec, native, call, err) < 0)
		return -1;
	int64_t started_ns = kgb_mono_ns();
	int rc;
	/* The baseline's failure is an infrastructure error. It may run until the verification's
	 * deadline: it may have to be compiled first, and is trusted to return. */
	if (spec->baseline)
		rc = kgb_worker_await(worker, kgb_lane_deadline(lane), "baseline", &call->reply,
				      err);
	else
		rc = kgb_lane_await_runner(lane, &call->reply, failure, err);
	lane->launched |= call->reply.n_launches > 0;
	lane->launched &= call->reply.status != KGB_WIRE_COMPILE;
	call->wall_ns = kgb_mono_ns() - started_ns;
	if (rc == 0 && !call->without_arena)
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
