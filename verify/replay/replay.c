/* SPDX-License-Identifier: MIT */
#include "verify/replay/replay.h"

#include <sys/mman.h>
#include <unistd.h>

#include "base/str.h"
#include "base/system/cache_dir.h"
#include "base/system/fs.h"
#include "base/system/memfd.h"
#include "base/time.h"
#include "verify/fills/fill.h"
#include "verify/provenance/compiler.h"
#include "verify/provenance/provenance.h"

enum {
	ABOUT_MS = 60 * 1000,
	EXEC_START_MS = 30 * 1000,
	ARENA_MS = 20 * 1000,
	PLAN_MS = 20 * 1000,
	CONDITIONS_MS = 20 * 1000,
	GPU_RUN_MS = 20 * 1000, /* a run on a GPU: a kernel that does not end must not hold it */
	REPLAY_REPETITION = 40, /* repetitions of replays; even ones poison buffers with NaN */
	WATCH_REPETITION = 20,
	OUTSIDE_REPETITION = 30,
	OUTSIDE_STREAM = 1 << 20, /* of random numbers of a case, beyond those of its arguments */
	PART_PLAN = 2, /* number of the plan at kgb-exec; plans 0 and 1 belong to the case */
};
#define WATCHED_BYTES_MAX ((uint64_t)1 << 30)
/* Pages that nobody writes take no memory, and a larger memfd has new ones. */
#define LEAST_SHARED_BYTES ((size_t)4 << 20)
#define LEAST_SHARED_BYTES_GPU ((size_t)512 << 20)

/* ---- once for a verification ---- */

/* The reference process is trusted and uses the same torch and the same GPU as the runner. */
static int ask_about(struct kgb_lane *lane, struct kgb_gpu_facts *facts, char **torch_dir,
		     struct kgb_err *err)
{
	KGB_AUTO(free) struct kgb_wire_reply *reply = kgb_xmalloc(sizeof(*reply));

	if (kgb_worker_send(&lane->reference->worker, "{\"op\":\"about\"}", NULL, 0, err) < 0)
		return -1;
	if (!kgb_worker_wait(&lane->reference->worker, kgb_mono_ms() + ABOUT_MS, reply))
		return kgb_fail(err, KGB_ERR_UNAVAILABLE,
				"the reference process cannot use the GPU");
	if (reply->status != KGB_WIRE_OK)
		return kgb_fail(err, KGB_ERR_UNAVAILABLE, "GPU: %s", reply->text);
	const size_t len = strcspn(reply->text, "\n");
	*torch_dir = kgb_xstrndup(reply->text, len);
	snprintf(facts->name, sizeof(facts->name), "%s", reply->text + len);
	facts->sm = (unsigned)reply->value;
	return 0;
}

int kgb_gpu_facts_new(struct kgb_lane *lane, struct kgb_err *err)
{
	struct kgb_gpu_facts *facts = kgb_xcalloc(1, sizeof(*facts));
	KGB_AUTO(free) char *torch_dir = NULL;
	KGB_AUTO(free) char *cache = kgb_cache_dir("images");
	KGB_AUTO(free)
	char *policy = kgb_path_join(lane->judge->options->data_dir, "verify/policy/device.yaml");

	KGB_MEASURE(lane, KGB_PHASE_DEVICE);
	lane->gpu = facts;
	if (kgb_device_policy_load(policy, &facts->policy, err) < 0 ||
	    ask_about(lane, facts, &torch_dir, err) < 0)
		return -1;
	KGB_AUTO(free) char *library = kgb_path_join(torch_dir, "lib/libtorch_cuda.so");
	struct kgb_disk_cache *store =
		kgb_disk_cache_try(cache, KGB_INDEX_ENTRY_MAX, KGB_INDEX_TOTAL_MAX);
	int rc = kgb_image_index_add(&facts->index, library, store, err);
	kgb_disk_cache_free(store);
	return rc;
}

void kgb_gpu_facts_free(struct kgb_gpu_facts *facts)
{
	if (!facts)
		return;
	kgb_image_index_release(&facts->index);
	kgb_device_policy_free(facts->policy);
	kgb_free(facts);
}

struct kgb_exec_spec kgb_replay_gpu_spec(const struct kgb_lane *lane)
{
	return (struct kgb_exec_spec){.device = (uint32_t)lane->judge->options->device,
				      .cupti = lane->judge->options->request.cupti,
				      .share = lane->judge->share,
				      .pool = lane->judge->options->request.zygotes};
}

static struct kgb_exec_spec exec_spec(const struct kgb_lane *lane, bool in_machine)
{
	if (in_machine || lane->judge->options->device == KGB_DEVICE_CPU)
		return (struct kgb_exec_spec){.on_cpu = true,
					      .n_threads = 1,
					      .pool = lane->judge->options->request.zygotes};
	return kgb_replay_gpu_spec(lane);
}

static struct kgb_replay *new_replay(struct kgb_replayer *replayer, bool is_lent)
{
	struct kgb_replay *replay = kgb_xmalloc(sizeof(*replay));

	*replay = (struct kgb_replay){.record_fd = -1,
				      .replayer = replayer,
				      .replayer_is_lent = is_lent,
				      .uses = replayer};
	return replay;
}

static struct kgb_replayer *new_replayer(void)
{
	struct kgb_replayer *replayer = kgb_xmalloc(sizeof(*replayer));

	*replayer = (struct kgb_replayer)KGB_REPLAYER_INIT;
	return replayer;
}

struct kgb_replayer *kgb_replay_machine(struct kgb_replay *replay)
{
	if (!replay->machine)
		replay->machine = new_replayer();
	return replay->machine;
}

int kgb_replay_begin(struct kgb_lane *lane, struct kgb_err *err)
{
	const struct kgb_exec_spec spec = exec_spec(lane, false);
	struct kgb_replayer *replayer = new_replayer();

	KGB_MEASURE(lane, KGB_PHASE_EXEC);
	lane->replay = new_replay(replayer, false);
	replayer->starter = gettid();
	replayer->begun = kgb_exec_client_begin(&replayer->exec, &spec, err) == KGB_EXEC_DONE;
	return replayer->begun ? 0 : -1;
}

void kgb_replay_borrow(struct kgb_lane *lane, const struct kgb_lane *lender)
{
	lane->reference = lender->reference;
	lane->baseline = lender->baseline;
	lane->replay = new_replay(lender->replay->replayer, true);
	lane->gpu = lender->gpu;
}

void kgb_replay_new(struct kgb_lane *lane)
{
	struct kgb_replay *replay = lane->replay;
	const struct kgb_provenance_spec spec = {
		.compiler = lane->judge->compiler,
		.kernel_text = lane->judge->source.ptr,
		.kernel_len = lane->judge->source.len,
		.sm = lane->gpu ? lane->gpu->sm : KGB_CPU_SM,
		.index = lane->gpu ? &lane->gpu->index : NULL,
		.policy = lane->gpu ? lane->gpu->policy : NULL,
	};

	replay->provenance = kgb_xmalloc(sizeof(*replay->provenance));
	kgb_provenance_init(replay->provenance, &spec);
}

static void free_replayer(struct kgb_replayer *replayer)
{
	if (replayer->begun || replayer->runs)
		kgb_exec_client_stop(&replayer->exec);
	if (replayer->input)
		munmap(replayer->input, replayer->input_bytes);
	if (replayer->output)
		munmap(replayer->output, replayer->output_bytes);
	kgb_close(replayer->input_fd);
	kgb_close(replayer->output_fd);
	kgb_free(replayer);
}

/* End a kgb-exec that this thread started anew after a fault: it would die with the thread while
 * other lanes use it. */
static void end_own_exec(struct kgb_replayer *replayer)
{
	pthread_mutex_lock(&replayer->lock);
	if (replayer->runs && replayer->starter == gettid()) {
		kgb_exec_client_stop(&replayer->exec);
		replayer->runs = false;
	}
	pthread_mutex_unlock(&replayer->lock);
}

void kgb_replay_leave(struct kgb_replay *replay, const struct kgb_gpu_lease *lease)
{
	if (replay && !replay->replayer_is_lent)
		kgb_exec_client_leave(&replay->replayer->exec, false, lease);
	if (replay && replay->machine)
		kgb_exec_client_leave(&replay->machine->exec, false, lease);
}

void kgb_replay_free(struct kgb_replay *replay)
{
	if (!replay)
		return;
	if (replay->replayer_is_lent)
		end_own_exec(replay->replayer);
	else
		free_replayer(replay->replayer);
	if (replay->machine)
		free_replayer(replay->machine);
	kgb_close(replay->record_fd);
	if (replay->provenance)
		kgb_provenance_release(replay->provenance);
	kgb_free(replay->provenance);
	kgb_free(replay);
}

/* ---- kgb-exec ---- */

/* The failure for a fault at which the machine on the CPU ended a kernel. */
static int refuse_fault(struct kgb_failure *failure, enum kgb_exec_fault fault, const char *text)
{
	static const struct {
		enum kgb_code code;
		const char *hint;
	} rows[KGB_EXEC_N_FAULTS] = {
		[KGB_EXEC_FAULT_ACCESS] =
			{KGB_CODE_VERIFY_OUT_OF_BOUNDS,
			 "Mask every tl.load and tl.store: offsets must stay below "
			 "the number of elements."},
		[KGB_EXEC_FAULT_ALIGNMENT] =
			{KGB_CODE_VERIFY_OUT_OF_BOUNDS,
			 "Make each address a multiple of its element's size: cast pointers "
			 "only to types that their offsets fit."},
		[KGB_EXEC_FAULT_CLAIM] =
			{KGB_CODE_VERIFY_RECORD,
			 "Launch as kernel[grid](...) in every call: keep no compiled kernel for other arguments."},
		[KGB_EXEC_FAULT_RACE] =
			{KGB_CODE_VERIFY_RACE,
			 "Let each program write elements of its own, or use atomics."},
		[KGB_EXEC_FAULT_INDEX] =
			{KGB_CODE_VERIFY_OUT_OF_BOUNDS,
			 "Keep every index within its block: bound it with a mask or tl.minimum."},
		[KGB_EXEC_FAULT_ASSERT] =
			{KGB_CODE_VERIFY_EXCEPTION,
			 "Correct what the assertion checks, or the assertion: it fails for these arguments."},
		[KGB_EXEC_FAULT_INPUT] =
			{KGB_CODE_VERIFY_MUTATION,
			 "Write only to results; an input must not be changed even for a time."},
		[KGB_EXEC_FAULT_FUEL] = {KGB_CODE_VERIFY_TIMEOUT,
					 "Look for a loop that does not end."},
		[KGB_EXEC_FAULT_HINT] =
			{KGB_CODE_VERIFY_OUT_OF_BOUNDS,
			 "Give tl.multiple_of, tl.max_constancy and the constraints of inline assembly "
			 "only what holds for all elements."},
	};

	KGB_ASSERT(fault > KGB_EXEC_FAULT_NONE && fault < KGB_EXEC_N_FAULTS);
	return kgb_refuse(failure, rows[fault].code, text, rows[fault].hint);
}

int kgb_replay_explain(struct kgb_lane *lane, enum kgb_exec_outcome outcome,
		       struct kgb_failure *failure, struct kgb_err *err)
{
	const char *text = kgb_lane_text(lane, "%s", err->msg);

	if (outcome >= KGB_EXEC_FAULTED) {
		kgb_exec_client_stop(&lane->replay->uses->exec);
		lane->replay->uses->runs = false;
	}
	switch (outcome) {
	case KGB_EXEC_UNREPLAYABLE:
		return kgb_refuse(failure, KGB_CODE_VERIFY_NOT_REPLAYABLE, text,
				  "Use plain launches, fills and copies on one device.");
	case KGB_EXEC_WROTE_OUTSIDE:
		return kgb_refuse(
			failure, KGB_CODE_VERIFY_OUT_OF_BOUNDS, text,
			"Mask every tl.store: offsets must stay below the number of elements.");
	case KGB_EXEC_FAULTED:
		return kgb_refuse(
			failure, KGB_CODE_VERIFY_OUT_OF_BOUNDS, text,
			"A kernel reached memory outside its tensors: check offsets, strides and "
			"masks, and that nothing is kept from earlier calls.");
	case KGB_EXEC_TIMED_OUT:
		return kgb_refuse(failure, KGB_CODE_VERIFY_TIMEOUT, text,
				  "Look for a loop that does not end.");
	case KGB_EXEC_OUT_OF_MEMORY:
		return kgb_refuse(failure, KGB_CODE_VERIFY_OOM, text,
				  "Allocate no more than the operator needs.");
	case KGB_EXEC_BROKE_RULE:
		return refuse_fault(
			failure, (enum kgb_exec_fault)lane->replay->uses->exec.reply.device_error,
			text);
	/* Nothing was executed, so the case does not pass; the candidate did not cause that. */
	case KGB_EXEC_UNKNOWN_OPERATION:
		return kgb_refuse(failure, KGB_CODE_INFRA_UNSUPPORTED_OP, text,
				  kgb_unsupported_hint);
	case KGB_EXEC_DONE:
	case KGB_EXEC_REFUSED:
	case KGB_EXEC_DIED:
	case KGB_EXEC_BROKE_PROTOCOL:
	case KGB_EXEC_NO_GPU:
	case KGB_EXEC_N_OUTCOMES:
		break;
	}
	return -1;
}

int kgb_replay_start_exec(struct kgb_lane *lane, struct kgb_err *err)
{
	struct kgb_replayer *replayer = lane->replay->uses;
	const struct kgb_exec_spec spec = exec_spec(lane, replayer == lane->replay->machine);
	const bool begun = replayer->begun;
	const int n_starts = replayer->exec.n_starts;

	if (replayer->runs)
		return 0;
	KGB_MEASURE(lane, KGB_PHASE_EXEC);
	replayer->begun = false;
	enum kgb_exec_outcome outcome =
		begun ? kgb_exec_client_finish(&replayer->exec, &spec, EXEC_START_MS, err)
		      : kgb_exec_client_start(&replayer->exec, &spec, EXEC_START_MS, err);
	replayer->runs = outcome == KGB_EXEC_DONE;
	if (!begun || replayer->exec.n_starts != n_starts)
		replayer->starter = gettid();
	return replayer->runs ? 0 : -1;
}

static int reserve(const char *name, bool is_input, size_t wanted, size_t least, char **memory,
		   size_t *bytes, int *fd, struct kgb_err *err)
{
	size_t size = least;

	if (wanted <= *bytes)
		return 0;
	while (size < wanted)
		size *= 2;
	if (*memory)
		munmap(*memory, *bytes);
	kgb_close(*fd);
	*memory = NULL;
	*fd = -1;
	*bytes = 0;
	if (kgb_memfd_mapped(name, size, is_input, memory, fd, err) < 0)
		return -1;
	*bytes = size;
	return 0;
}

/* The replayer of the machine for Triton's IR; NULL: none yet. */
static struct kgb_replayer *find_machine(const struct kgb_lane *lane)
{
	return lane->judge->options->device == KGB_DEVICE_CPU ? lane->replay->replayer
							      : lane->replay->machine;
}

/* Memory that is shared with kgb-exec, at least so much. */
static int reserve_shared(struct kgb_lane *lane, size_t input_bytes, size_t output_bytes,
			  struct kgb_err *err)
{
	struct kgb_replayer *r = lane->replay->uses;
	const size_t least = r == find_machine(lane) ? LEAST_SHARED_BYTES : LEAST_SHARED_BYTES_GPU;

	if (reserve("kgb-exec-input", true, input_bytes, least, &r->input, &r->input_bytes,
		    &r->input_fd, err) < 0)
		return -1;
	return reserve("kgb-exec-output", false, output_bytes, least, &r->output, &r->output_bytes,
		       &r->output_fd, err);
}

bool kgb_replay_is_tight(const struct kgb_case *c)
{
	return c->mode != KGB_MODE_BENCHMARK;
}

static size_t output_bytes_of(const struct kgb_candidate_call *call,
			      const struct kgb_exec_request *request)
{
	size_t sum = call->arena_bytes + 64;

	for (size_t i = 0; i < request->n_ranges; i++)
		sum += request->ranges[i].bytes + 64;
	return sum;
}

uint32_t kgb_replay_ranges(const struct kgb_replay_case *rcase, const struct kgb_case_data *data,
			   struct kgb_exec_range ranges[KGB_MAX_RESULTS])
{
	uint32_t n = 0;

	for (size_t i = 0; i < data->n_results; i++)
		if (rcase->ranges[i].bytes > 0)
			ranges[n++] = rcase->ranges[i];
	return n;
}

const char *kgb_replay_result(const struct kgb_replay_case *rcase, const struct kgb_case_data *data,
			      size_t i, const char *output, const struct kgb_exec_layout *layout,
			      struct kgb_tensor_view *view)
{
	const struct kgb_candidate_call *call = &rcase->call;
	const size_t holder = kgb_candidate_call_holder(data->kase, i);
	size_t n = 0;

	if (holder != SIZE_MAX) {
		*view = call->views[holder];
		return kgb_tensor_view_numel(view) > 0 ? output + call->at[holder] : NULL;
	}
	if (rcase->ranges[i].bytes == 0)
		return NULL;
	for (size_t before = 0; before < i; before++)
		n += rcase->ranges[before].bytes > 0;
	*view = kgb_wire_view(&call->reply.outputs[i]);
	view->dtype = data->results[i].view.dtype;
	return output + layout->ranges[n];
}

struct kgb_candidate_call kgb_replay_call(const struct kgb_replay_case *rcase)
{
	struct kgb_candidate_call call = rcase->call;

	memset(call.values, 0, sizeof(call.values));
	call.without_values = call.without_arena = false;
	return call;
}

void kgb_replay_take_fresh(const struct kgb_replay_case *rcase, const struct kgb_case_data *data,
			   const char *output, const struct kgb_exec_layout *layout,
			   struct kgb_candidate_call *call)
{
	for (size_t i = 0; i < data->n_results; i++) {
		struct kgb_tensor_view view;
		const char *at = kgb_replay_result(rcase, data, i, output, layout, &view);
		if (!at || kgb_candidate_call_holder(data->kase, i) != SIZE_MAX)
			continue;
		call->values[i] = kgb_xreallocarray(NULL, (size_t)kgb_tensor_view_numel(&view),
						    kgb_dtype_size(view.dtype));
		kgb_tensor_view_gather(&view, at, call->values[i]);
	}
}

void kgb_replay_take(struct kgb_lane *lane, const struct kgb_replay_case *rcase,
		     const struct kgb_case_data *data, const char *output,
		     const struct kgb_exec_layout *layout, struct kgb_candidate_call *call)
{
	kgb_candidate_call_resize(&lane->after, call->arena_bytes);
	kgb_candidate_call_copy_parts(call, lane->after.ptr, output);
	kgb_replay_take_fresh(rcase, data, output, layout, call);
	kgb_candidate_call_take_held(lane, data, call);
}

static void add_part(struct kgb_exec_arena_spec *spec, struct kgb_exec_range *parts,
		     const struct kgb_part *part)
{
	spec->inputs |= (uint32_t)part->is_input << spec->n_parts;
	parts[spec->n_parts++] =
		(struct kgb_exec_range){.address = part->address, .bytes = part->bytes};
}

/* Map only the parts, so that an access beside them faults; in order of address, which is that of
 * their places in each window. With a prologue map the first window as a whole: the prologue was
 * recorded with the arguments at other places there. What lies in other windows is brought back
 * last. */
static enum kgb_exec_outcome send_arena(struct kgb_replayer *replayer,
					const struct kgb_replay_case *rcase,
					const struct kgb_candidate_call *call, struct kgb_err *err)
{
	struct kgb_exec_range parts[KGB_MAX_ARGS + 1] = {0};
	struct kgb_exec_arena_spec spec = {
		.input_fd = replayer->input_fd,
		.output_fd = replayer->output_fd,
		.arena_bytes = call->arena_bytes,
		.output_bytes = replayer->output_bytes,
		.n_slots = 1,
		.parts = parts,
	};
	const struct kgb_part whole = {.bytes = call->arena_bytes, .address = KGB_ARENA_ADDRESS};
	const uint64_t first = rcase->has_prologue ? 1 : 0;

	if (rcase->has_prologue)
		add_part(&spec, parts, &whole);
	for (uint64_t window = first; window < KGB_ARENA_WINDOWS; window++)
		for (size_t i = 0; i < call->n_parts; i++)
			if (kgb_arena_window(call->parts[i].address) == kgb_arena_window_at(window))
				add_part(&spec, parts, &call->parts[i]);
	return kgb_exec_client_arena(&replayer->exec, &spec, ARENA_MS, err);
}

/* Run *request on lane->image. *layout gives the places of the output in the replayer's memory. */
static int run(struct kgb_lane *lane, const struct kgb_replay_case *rcase,
	       const struct kgb_candidate_call *call, struct kgb_exec_request *request,
	       struct kgb_exec_layout *layout, struct kgb_failure *failure, struct kgb_err *err)
{
	struct kgb_replayer *replayer = lane->replay->uses;
	int64_t left_ms = kgb_lane_call_deadline(lane) - kgb_mono_ms();

	if (left_ms <= 0)
		return kgb_refuse(failure, KGB_CODE_VERIFY_TIMEOUT,
				  "the time of the verification was over before all was replayed",
				  "Look for calls that take long: all cases share the time.");
	if (lane->gpu && replayer != lane->replay->machine && left_ms > GPU_RUN_MS)
		left_ms = GPU_RUN_MS;
	request->prologue = rcase->has_prologue ? 1 : KGB_EXEC_NO_PLAN;
	if (request->poison == 0)
		kgb_random(&request->poison, sizeof(request->poison));
	if (reserve_shared(lane, call->arena_bytes, output_bytes_of(call, request), err) < 0)
		return -1;
	kgb_candidate_call_copy_parts(call, replayer->input, lane->image.ptr);
	enum kgb_exec_outcome outcome = send_arena(replayer, rcase, call, err);
	if (outcome == KGB_EXEC_DONE)
		outcome = kgb_exec_client_run(&replayer->exec, request, layout, left_ms, err);
	return outcome == KGB_EXEC_DONE ? 0 : kgb_replay_explain(lane, outcome, failure, err);
}

static int prepare(struct kgb_lane *lane, const struct kgb_replay_case *rcase,
		   const struct kgb_case_data *data, int repetition,
		   struct kgb_candidate_call *call, struct kgb_err *err)
{
	const struct kgb_candidate_call_spec spec = {.repetition = REPLAY_REPETITION + repetition,
						     .places = 1,
						     .arrangement = kgb_replay_is_tight(data->kase)
									    ? KGB_PLACED_TIGHT
									    : KGB_PLACED_LOOSE};

	if (kgb_candidate_call_prepare(lane, data, &spec, call, err) < 0 ||
	    kgb_replay_start_exec(lane, err) < 0)
		return -1;
	call->reply = rcase->call.reply;
	return 0;
}

/* Load the first `n_ops` ops of the plan as plan PART_PLAN. 0, 1 *failure, -1 *err. */
static int load_part(struct kgb_lane *lane, const struct kgb_replay_case *rcase, size_t n_ops,
		     bool with_kernels, struct kgb_failure *failure, struct kgb_err *err)
{
	KGB_AUTO(buf) struct kgb_buf record = KGB_BUF_INIT(KGB_RECORD_BYTES_MAX);

	if (kgb_replay_plan_part(&rcase->plan, n_ops, with_kernels, &record, err) < 0 ||
	    kgb_replay_start_exec(lane, err) < 0)
		return -1;
	enum kgb_exec_outcome outcome = kgb_exec_client_plan(&lane->replay->uses->exec, PART_PLAN,
							     record.ptr, record.len, PLAN_MS, err);
	return outcome == KGB_EXEC_DONE ? 0 : kgb_replay_explain(lane, outcome, failure, err);
}

int kgb_replay_run(struct kgb_lane *lane, const struct kgb_replay_case *rcase,
		   const struct kgb_case_data *data, int repetition, int skip,
		   struct kgb_candidate_call *call, struct kgb_failure *failure,
		   struct kgb_err *err)
{
	struct kgb_exec_layout layout = {0};
	struct kgb_exec_request request = {.skip = skip};
	int rc = 0;

	if (prepare(lane, rcase, data, repetition, call, err) < 0)
		return -1;
	if (skip == KGB_REPLAY_SKIP_KERNELS) {
		request.plan = PART_PLAN;
		request.skip = KGB_REPLAY_SKIP_NOTHING;
		rc = load_part(lane, rcase, rcase->plan.n_ops, false, failure, err);
	}
	request.n_ranges = kgb_replay_ranges(rcase, data, request.ranges);
	if (rc == 0)
		rc = run(lane, rcase, call, &request, &layout, failure, err);
	call->fresh_seed = request.poison;
	if (rc == 0)
		kgb_replay_take(lane, rcase, data, lane->replay->uses->output, &layout, call);
	return rc;
}

int kgb_replay_outside(struct kgb_lane *lane, const struct kgb_replay_case *rcase,
		       const struct kgb_case_data *data, struct kgb_err *err)
{
	struct kgb_exec_request request = {.skip = KGB_REPLAY_SKIP_NOTHING,
					   .flags = KGB_EXEC_OUTSIDE | KGB_EXEC_WITHOUT_ARENA};
	struct kgb_candidate_call call = {0};
	struct kgb_failure ignored;
	struct kgb_exec_layout layout;
	struct kgb_rng rng;

	if (lane->replay->uses != find_machine(lane))
		return 0;
	if (prepare(lane, rcase, data, OUTSIDE_REPETITION, &call, err) < 0)
		return -1;
	kgb_rng_init(&rng, &lane->verdict->seed, data->kase->name, OUTSIDE_STREAM);
	for (size_t i = 0; i < data->kase->n_args; i++) {
		struct kgb_arg arg = data->kase->args[i];
		arg.view = call.views[i];
		if (arg.param->kind == KGB_PARAM_TENSOR && !arg.is_absent &&
		    arg.view.storage_elements > 0)
			kgb_fill_excluded(&arg, &rng, lane->image.ptr + call.at[i]);
	}
	int rc = run(lane, rcase, &call, &request, &layout, &ignored, err);
	kgb_candidate_call_release(&call);
	return rc < 0 ? -1 : 0;
}

int kgb_replay_take_conditions(struct kgb_lane *lane, struct kgb_err *err)
{
	struct kgb_replayer *machine = find_machine(lane);

	if (!machine || !machine->runs || machine->exec.sets[machine->exec.set].output_bytes == 0)
		return 0;
	if (kgb_exec_client_conditions(&machine->exec, CONDITIONS_MS, err) != KGB_EXEC_DONE)
		return -1;
	for (uint64_t i = 0; i < machine->exec.reply.value; i++) {
		struct kgb_exec_condition one;
		memcpy(&one, machine->output + i * sizeof(one), sizeof(one));
		one.file[sizeof(one.file) - 1] = '\0';
		if (kgb_str_eq(one.file, "kernel.py"))
			kgb_conditions_add(&lane->verdict->conditions, &one);
	}
	return 0;
}

size_t kgb_replay_output_bytes(const struct kgb_replay_case *rcase,
			       const struct kgb_case_data *data)
{
	struct kgb_exec_request request = {0};
	const size_t held = kgb_replay_returns_all_fresh(data) ? 0 : rcase->call.arena_bytes;

	request.n_ranges = kgb_replay_ranges(rcase, data, request.ranges);
	return output_bytes_of(&rcase->call, &request) + held + KGB_EXEC_RANGES * 64;
}

int kgb_replay_give_inputs(struct kgb_lane *lane, const struct kgb_replay_case *rcase,
			   const struct kgb_case_data *data, struct kgb_exec_arena_spec *inputs,
			   struct kgb_failure *failure, struct kgb_err *err)
{
	struct kgb_replayer *replayer = lane->replay->uses;

	if (reserve_shared(lane, 0, kgb_replay_output_bytes(rcase, data), err) < 0)
		return -1;
	inputs->output_fd = replayer->output_fd;
	inputs->output_bytes = replayer->output_bytes;
	enum kgb_exec_outcome outcome =
		kgb_exec_client_arena(&replayer->exec, inputs, ARENA_MS, err);
	return outcome == KGB_EXEC_DONE ? 0 : kgb_replay_explain(lane, outcome, failure, err);
}

bool kgb_replay_returns_all_fresh(const struct kgb_case_data *data)
{
	for (size_t i = 0; i < data->n_results; i++)
		if (kgb_candidate_call_holder(data->kase, i) != SIZE_MAX)
			return false;
	return true;
}

static int run_slot(struct kgb_lane *lane, const struct kgb_replay_case *rcase,
		    struct kgb_exec_request *request, struct kgb_exec_layout *layout,
		    struct kgb_failure *failure, struct kgb_err *err)
{
	request->prologue = rcase->has_prologue ? 1 : KGB_EXEC_NO_PLAN;
	request->skip = KGB_REPLAY_SKIP_NOTHING;
	kgb_random(&request->poison, sizeof(request->poison));
	enum kgb_exec_outcome outcome =
		kgb_exec_client_run(&lane->replay->uses->exec, request, layout, GPU_RUN_MS, err);
	return outcome == KGB_EXEC_DONE ? 0 : kgb_replay_explain(lane, outcome, failure, err);
}

int kgb_replay_run_ranges(struct kgb_lane *lane, const struct kgb_replay_case *rcase, uint32_t slot,
			  const struct kgb_exec_range *ranges, uint32_t n_ranges,
			  struct kgb_exec_layout *layout, struct kgb_failure *failure,
			  struct kgb_err *err)
{
	struct kgb_exec_request request = {
		.slot = slot, .flags = KGB_EXEC_WITHOUT_ARENA, .n_ranges = n_ranges};

	memcpy(request.ranges, ranges, n_ranges * sizeof(ranges[0]));
	return run_slot(lane, rcase, &request, layout, failure, err);
}

int kgb_replay_run_first(struct kgb_lane *lane, const struct kgb_replay_case *rcase,
			 const struct kgb_case_data *data, struct kgb_candidate_call *call,
			 struct kgb_failure *failure, struct kgb_err *err)
{
	struct kgb_exec_request request = {.slot = 0};
	struct kgb_exec_layout layout;

	*call = kgb_replay_call(rcase);
	request.n_ranges = kgb_replay_ranges(rcase, data, request.ranges);
	const int rc = run_slot(lane, rcase, &request, &layout, failure, err);
	call->fresh_seed = request.poison;
	if (rc == 0)
		kgb_replay_take(lane, rcase, data, lane->replay->uses->output, &layout, call);
	return rc;
}

/* ---- memory in between ---- */

/* Write the next blocks of a plan, from *next on, to ranges[]: as many as one run brings back. */
static uint32_t next_blocks(const struct kgb_replay_plan *plan, size_t *next,
			    struct kgb_exec_range ranges[KGB_EXEC_RANGES])
{
	uint32_t n = 0;

	for (; *next < plan->n_blocks && n < KGB_EXEC_RANGES; (*next)++)
		if (plan->blocks[*next].bytes > 0)
			ranges[n++] = plan->blocks[*next];
	return n;
}

/* Their numbers begin at `place`. */
static void see_arguments(const struct kgb_candidate_call *call, const char *arena,
			  enum kgb_origin_writer by, size_t place, struct kgb_result_origin *origin)
{
	const struct kgb_case_data *data = origin->data;

	for (size_t i = 0; i < data->kase->n_args; i++) {
		const struct kgb_tensor_view *view = &call->views[i];
		if (data->kase->args[i].param->kind != KGB_PARAM_VALUE)
			kgb_result_origin_see(
				origin, place++, arena + call->at[i],
				(size_t)view->storage_elements * kgb_dtype_size(view->dtype), by);
	}
}

/* Run the loaded part of the plan once for every KGB_EXEC_RANGES blocks, until all are examined. */
static int see_all(struct kgb_lane *lane, const struct kgb_replay_case *rcase,
		   enum kgb_origin_writer by, struct kgb_result_origin *origin,
		   struct kgb_failure *failure, struct kgb_err *err)
{
	struct kgb_replayer *replayer = lane->replay->uses;
	struct kgb_exec_layout layout = {0};
	struct kgb_candidate_call call = {0};
	size_t next = 0, place = 0;
	int rc = prepare(lane, rcase, origin->data, WATCH_REPETITION, &call, err);

	do {
		struct kgb_exec_request request = {.plan = PART_PLAN,
						   .skip = KGB_REPLAY_SKIP_NOTHING,
						   .poison = origin->poison};
		request.n_ranges = next_blocks(&rcase->plan, &next, request.ranges);
		if (rc == 0)
			rc = run(lane, rcase, &call, &request, &layout, failure, err);
		for (size_t i = 0; rc == 0 && i < request.n_ranges; i++)
			kgb_result_origin_see(origin, place++, replayer->output + layout.ranges[i],
					      (size_t)request.ranges[i].bytes, by);
	} while (rc == 0 && next < rcase->plan.n_blocks);
	if (rc == 0)
		see_arguments(&call, replayer->output, by, place, origin);
	kgb_candidate_call_release(&call);
	return rc;
}

int kgb_replay_watch(struct kgb_lane *lane, const struct kgb_replay_case *rcase, size_t n_ops,
		     bool with_kernels, enum kgb_origin_writer by, struct kgb_result_origin *origin,
		     struct kgb_failure *failure, struct kgb_err *err)
{
	if (rcase->plan.block_bytes > WATCHED_BYTES_MAX)
		return kgb_refuse(
			failure, KGB_CODE_VERIFY_OOM,
			kgb_lane_text(lane,
				      "a call allocates %llu MiB although its results are small",
				      (unsigned long long)rcase->plan.block_bytes >> 20),
			"Allocate no more than the operator needs.");
	int rc = load_part(lane, rcase, n_ops, with_kernels, failure, err);
	return rc == 0 ? see_all(lane, rcase, by, origin, failure, err) : rc;
}
