/* SPDX-License-Identifier: MIT */
#include "verify/lane/lane.h"

#include <fcntl.h>

#include "base/formats/jsonw.h"
#include "base/limits.h"
#include "base/system/fs.h"
#include "base/system/memfd.h"
#include "base/time.h"
#include "verify/process/user_module.h"
#include "verify/provenance/compiler.h"

enum { START_MS = 30 * 1000, STARTS_MAX = 2 };

/* The reference runs our own code on our own sizes: these are backstops only. */
#define REFERENCE_MEMORY_BYTES ((int64_t)64 << 30)
#define REFERENCE_CPU_S 3600

void kgb_lane_init(struct kgb_lane *lane, const struct kgb_judge *judge,
		   struct kgb_verdict *verdict)
{
	*lane = (struct kgb_lane){
		.judge = judge,
		.verdict = verdict,
		.runner = KGB_WORKER_INIT,
		.own_reference = KGB_TRUSTED_INIT,
		.reference = &lane->own_reference,
		.own_baseline = KGB_TRUSTED_INIT,
		.baseline = &lane->own_baseline,
		.image = KGB_BUF_INIT(0),
		.after = KGB_BUF_INIT(0),
	};
}

void kgb_lane_leave(struct kgb_lane *lane, const struct kgb_gpu_lease *lease)
{
	kgb_worker_leave(&lane->runner, lease);
	kgb_worker_leave(&lane->own_baseline.worker, lease);
	kgb_worker_kill(&lane->own_reference.worker);
	kgb_compiler_leave(lane->seat);
	lane->seat = NULL;
}

void kgb_lane_release(struct kgb_lane *lane)
{
	kgb_lane_leave(lane, NULL);
	kgb_worker_stop(&lane->runner);
	kgb_worker_stop(&lane->own_reference.worker);
	kgb_shared_arena_release(&lane->own_reference.memory);
	kgb_worker_stop(&lane->own_baseline.worker);
	kgb_shared_arena_release(&lane->own_baseline.memory);
	kgb_shared_arena_release(&lane->runner_memory);
	kgb_buf_release(&lane->image);
	kgb_buf_release(&lane->after);
}

int64_t kgb_lane_deadline(const struct kgb_lane *lane)
{
	struct kgb_gpu_share *share = lane->judge->share;

	return lane->deadline_ms + (share ? kgb_gpu_share_waited_ms(share) : 0);
}

int64_t kgb_lane_call_deadline(const struct kgb_lane *lane)
{
	const int64_t deadline_ms = kgb_mono_ms() + lane->judge->options->request.call_timeout_ms;
	const int64_t last_ms = kgb_lane_deadline(lane);

	return deadline_ms < last_ms ? deadline_ms : last_ms;
}

/* ---- waiting for others ---- */

/* Extend the verification's deadline by the time since `since_ms`, which was spent waiting; all
 * extensions together are at most KGB_WAITS_MAX_MS. */
static void add_wait(struct kgb_lane *lane, int64_t since_ms)
{
	const int64_t left_ms = KGB_WAITS_MAX_MS - lane->waited_ms;
	int64_t waited_ms = kgb_mono_ms() - since_ms;

	waited_ms = waited_ms < left_ms ? waited_ms : left_ms;
	lane->waited_ms += waited_ms;
	lane->deadline_ms += waited_ms;
}

int kgb_lane_await_gpu(struct kgb_lane *lane, enum kgb_stage stage)
{
	struct kgb_gpu_lease lease = KGB_LEASE_NONE;
	struct kgb_err err = KGB_ERR_INIT;

	if (kgb_gpu_share_enter(lane->judge->share, &lease, &err) == 0) {
		kgb_gpu_lease_give(&lease);
		return 0;
	}
	kgb_verdict_decide_infra(lane->verdict, stage, KGB_CODE_INFRA_GPU_LEASE, &err);
	return 1;
}

int kgb_lane_start_worker(struct kgb_lane *lane, struct kgb_worker *worker, enum kgb_role role,
			  const struct kgb_worker_spec *spec, int64_t timeout_ms,
			  struct kgb_err *err)
{
	const int64_t since_ms = kgb_mono_ms();
	struct kgb_worker_spec of_lane = *spec;
	int rc = -1;

	of_lane.share = lane->judge->share;
	/* A spare may have ended just when it was to be lent. */
	for (int n_left = STARTS_MAX; rc < 0 && n_left > 0; n_left--) {
		*err = (struct kgb_err)KGB_ERR_INIT;
		rc = kgb_worker_start(worker, &lane->judge->zygotes[role], &of_lane, timeout_ms,
				      err);
	}
	add_wait(lane, since_ms);
	return rc;
}

/* ---- the reference, and torch's baseline ---- */

static int send_reference_file(struct kgb_lane *lane, struct kgb_worker *worker, const char *file,
			       struct kgb_err *err)
{
	KGB_AUTO(free) char *path = kgb_path_join(lane->judge->spec.reference_dir, file);
	KGB_AUTO(free) char *what = kgb_xasprintf("reference '%s'", path);
	KGB_AUTO(buf) struct kgb_buf source = KGB_BUF_INIT(KGB_LIMIT_KERNEL);
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(KGB_WIRE_REQUEST_MAX);
	KGB_AUTO(fd) int fd = -1;
	KGB_AUTO(free) struct kgb_wire_reply *reply = kgb_xmalloc(sizeof(*reply));
	struct kgb_jsonw w;

	if (kgb_fs_read(AT_FDCWD, path, KGB_LIMIT_KERNEL, &source, err) < 0 ||
	    kgb_memfd_of("kgb-reference", source.ptr, source.len, &fd, err) < 0)
		return -1;
	kgb_jsonw_init(&w, &text, 0);
	kgb_jsonw_put(&w, "{op: 'load', file: %s}", file);
	if (kgb_worker_send(worker, text.ptr, &fd, 1, err) < 0)
		return -1;
	return kgb_worker_await(worker, kgb_mono_ms() + START_MS, what, reply, err);
}

static int start_trusted(struct kgb_lane *lane, struct kgb_worker *worker, const char *role,
			 struct kgb_err *err)
{
	const struct kgb_strv *files = &lane->judge->spec.reference_files;
	const struct kgb_worker_spec spec = {
		.role = role,
		.memory_bytes = REFERENCE_MEMORY_BYTES,
		.cpu_s = REFERENCE_CPU_S,
	};

	if (kgb_lane_start_worker(lane, worker, KGB_ROLE_REFERENCE, &spec, START_MS, err) < 0)
		return -1;
	for (size_t i = 0; i < files->n; i++)
		if (send_reference_file(lane, worker, files->items[i], err) < 0)
			return -1;
	return 0;
}

int kgb_lane_start_reference(struct kgb_lane *lane, struct kgb_err *err)
{
	KGB_MEASURE(lane, KGB_PHASE_REFERENCE);
	return start_trusted(lane, &lane->reference->worker, "reference", err);
}

/* ---- the runner, and the baseline that is a kernel file ---- */

static void write_load(const struct kgb_lane *lane, struct kgb_buf *text)
{
	struct kgb_user_module module = {0};
	struct kgb_rng rng;
	struct kgb_jsonw w;
	uint64_t number = 0;

	kgb_jsonw_init(&w, text, 0);
	kgb_jsonw_put(&w, "{op: 'load', entries: [");
	for (size_t i = 0; i < lane->judge->spec.n_interfaces; i++)
		kgb_jsonw_str(&w, lane->judge->spec.interfaces[i].entry);
	kgb_jsonw_put(&w, "], allow: [");
	for (size_t i = 0; i < lane->judge->allowed_ops.n; i++)
		kgb_jsonw_str(&w, lane->judge->allowed_ops.items[i]);
	kgb_rng_init(&rng, &lane->verdict->seed, "module", lane->without_asserts);
	kgb_rng_bytes(&rng, &number, sizeof(number));
	kgb_user_module_draw(number, &module);
	/* Either the runners with asserts or those without are as torchrun starts them. */
	const bool is_launched = (lane->verdict->seed.bytes[0] & 1) == lane->without_asserts;
	kgb_jsonw_put(&w, "], optimized: %hhd, module: %s, folder: %s, rank: %u}",
		      lane->without_asserts, module.name, module.folder,
		      is_launched ? module.rank : 0U);
}

/* No code of the candidate has run so far: a failure here (no GPU, a driver too old for torch, no
 * memory for a context) is an infrastructure error. */
static int await_ready(struct kgb_lane *lane, struct kgb_worker *worker, struct kgb_err *err)
{
	KGB_AUTO(free) struct kgb_wire_reply *reply = kgb_xmalloc(sizeof(*reply));

	if (kgb_worker_send(worker, "{\"op\":\"ready\"}", NULL, 0, err) < 0)
		return -1;
	const int64_t since_ms = kgb_mono_ms();
	bool answered = kgb_worker_wait(worker, since_ms + START_MS, reply);
	add_wait(lane, since_ms);
	if (!answered)
		return kgb_fail(err, KGB_ERR_UNAVAILABLE,
				"the process for the kernel does not start%s",
				kgb_lane_last_words(lane, worker));
	if (reply->status != KGB_WIRE_OK)
		return kgb_fail(err, KGB_ERR_FAILED, "the process for the kernel: %.300s",
				reply->text);
	return 0;
}

/* Start a jailed process. A process that ends before any code of the candidate has run (2 of 1,600
 * on a GPU did, without a message) is no evidence against the candidate: start another one. */
static int start_for_kernel(struct kgb_lane *lane, struct kgb_worker *worker,
			    const struct kgb_worker_spec *spec, struct kgb_err *err)
{
	for (int n_left = STARTS_MAX; n_left > 0; n_left--) {
		if (kgb_lane_start_worker(lane, worker, KGB_ROLE_RUNNER, spec, START_MS, err) < 0)
			return -1;
		if (await_ready(lane, worker, err) == 0)
			return 0;
		if (n_left == 1 || worker->end == KGB_WORKER_ALIVE ||
		    worker->end == KGB_WORKER_TIMED_OUT)
			break;
		kgb_worker_stop(worker);
		*err = (struct kgb_err)KGB_ERR_INIT;
	}
	return -1;
}

/* Start a jailed process and request that it loads a kernel file; the caller waits for the reply.
 * `compiler` is the process's end of its seat at the compiler, -1: none. */
static int send_kernel(struct kgb_lane *lane, struct kgb_worker *worker,
		       const struct kgb_buf *source, int compiler, struct kgb_err *err)
{
	KGB_AUTO(fd) int kernel = -1;
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(KGB_WIRE_REQUEST_MAX);

	if (kgb_memfd_of("kgb-kernel", source->ptr, source->len, &kernel, err) < 0)
		return -1;
	const struct kgb_worker_spec spec = {
		.role = "runner",
		.memory_bytes = lane->judge->options->request.memory_bytes,
		.cpu_s = lane->judge->options->request.timeout_ms / 1000 + 1,
		.tmp_bytes = kgb_runner_tmp_bytes(lane->judge->options->device),
		.fds = {kernel, compiler},
		.n_fds = compiler < 0 ? 1 : 2,
	};
	if (start_for_kernel(lane, worker, &spec, err) < 0)
		return -1;
	write_load(lane, &text);
	if (text.overflowed)
		return kgb_fail(err, KGB_ERR_LIMIT, "the load request is too long");
	return kgb_worker_send(worker, text.ptr, NULL, 0, err);
}

/* Start the baseline that is another kernel file. */
static int load_baseline_kernel(struct kgb_lane *lane, const char *path, struct kgb_err *err)
{
	KGB_AUTO(buf) struct kgb_buf source = KGB_BUF_INIT(KGB_LIMIT_KERNEL);
	KGB_AUTO(free) char *what = kgb_xasprintf("baseline '%s'", path);
	KGB_AUTO(free) struct kgb_wire_reply *reply = kgb_xmalloc(sizeof(*reply));

	if (kgb_fs_read(AT_FDCWD, path, KGB_LIMIT_KERNEL, &source, err) < 0 ||
	    send_kernel(lane, &lane->baseline->worker, &source, -1, err) < 0)
		return -1;
	return kgb_worker_await(&lane->baseline->worker, kgb_lane_call_deadline(lane), what, reply,
				err);
}

int kgb_lane_start_baseline(struct kgb_lane *lane, struct kgb_err *err)
{
	const struct kgb_judge_options *options = lane->judge->options;

	KGB_MEASURE(lane, KGB_PHASE_BASELINE);
	if (options->baseline == KGB_BASELINE_KERNEL)
		return load_baseline_kernel(lane, options->request.baseline, err);
	return start_trusted(lane, &lane->baseline->worker,
			     options->baseline == KGB_BASELINE_COMPILE ? "compiled" : "baseline",
			     err);
}

int kgb_lane_load(struct kgb_lane *lane, const struct kgb_case *c, struct kgb_failure *failure,
		  struct kgb_err *err)
{
	KGB_AUTO(free) struct kgb_wire_reply *reply = kgb_xmalloc(sizeof(*reply));
	KGB_AUTO(fd) int compiler = -1;

	if (lane->runner.end == KGB_WORKER_ALIVE &&
	    lane->without_asserts == c->style.without_asserts)
		return 0;
	KGB_MEASURE(lane, KGB_PHASE_RUNNER);
	lane->without_asserts = c->style.without_asserts;
	kgb_compiler_leave(lane->seat);
	lane->seat = NULL;
	kgb_worker_stop(&lane->runner);
	kgb_shared_arena_release(&lane->runner_memory);
	if (lane->judge->compiler &&
	    kgb_compiler_sit(lane->judge->compiler, &lane->runner, &lane->judge->source,
			     lane->judge->options->device != KGB_DEVICE_CPU, &lane->seat, &compiler,
			     err) < 0)
		return -1;
	if (send_kernel(lane, &lane->runner, &lane->judge->source, compiler, err) < 0)
		return -1;
	memcpy(lane->verdict->python, lane->runner.python, sizeof(lane->verdict->python));
	memcpy(lane->verdict->torch, lane->runner.torch, sizeof(lane->verdict->torch));
	memcpy(lane->verdict->triton, lane->runner.triton, sizeof(lane->verdict->triton));
	return kgb_lane_await_runner(lane, reply, failure, err);
}

int kgb_lane_await_runner(struct kgb_lane *lane, struct kgb_wire_reply *reply,
			  struct kgb_failure *failure, struct kgb_err *err)
{
	int64_t compiled_ms = kgb_compiler_seat_waited_ms(lane->seat);
	int64_t deadline_ms = kgb_lane_call_deadline(lane);

	const int64_t last_ms = kgb_lane_deadline(lane);

	while (!kgb_worker_poll(&lane->runner, deadline_ms) && deadline_ms < last_ms) {
		const int64_t more_ms = kgb_compiler_seat_waited_ms(lane->seat) - compiled_ms;
		if (more_ms == 0)
			break;
		compiled_ms += more_ms;
		deadline_ms += more_ms;
		if (deadline_ms > last_ms)
			deadline_ms = last_ms;
	}
	if (!kgb_worker_wait(&lane->runner, deadline_ms, reply))
		return kgb_lane_explain_end(lane, failure, err);
	return kgb_lane_explain_reply(lane, reply, failure);
}

int kgb_lane_ask_runner(struct kgb_lane *lane, const char *json, int fd,
			struct kgb_wire_reply *reply, struct kgb_failure *failure,
			struct kgb_err *err)
{
	if (kgb_worker_send(&lane->runner, json, &fd, 1, err) < 0)
		return -1;
	return kgb_lane_await_runner(lane, reply, failure, err);
}
