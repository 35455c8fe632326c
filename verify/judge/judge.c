/* SPDX-License-Identifier: MIT */
#include "verify/judge/judge.h"

#include <fcntl.h>
#include <signal.h>

#include "base/fs.h"
#include "base/jsonw.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/time.h"
#include "base/yaml.h"
#include "verify/judge/cache.h"
#include "verify/judge/health.h"
#include "verify/judge/proof_cache.h"
#include "verify/judge/replay.h"
#include "verify/judge/truth_cache.h"

enum { READY_MS = 120 * 1000, REFERENCE_MS = 120 * 1000, START_MS = 30 * 1000 };

/* The reference runs our own code on our own sizes: these are backstops only. */
#define REFERENCE_MEMORY_BYTES ((int64_t)64 << 30)
#define REFERENCE_CPU_S 3600

#define say(judge, ...) kgb_arena_printf(&(judge)->verdict->arena, __VA_ARGS__)

int64_t kgb_judge_call_deadline(const struct kgb_judge *judge)
{
	int64_t deadline = kgb_mono_ms() + judge->options->call_timeout_ms;

	return deadline < judge->deadline_ms ? deadline : judge->deadline_ms;
}

/* ---- what went wrong ---- */

int kgb_judge_refuse(struct kgb_failure *failure, const char *code, const char *message,
		     const char *hint)
{
	*failure = (struct kgb_failure){.code = code, .message = message, .hint = hint};
	return 1;
}

/* The end of what a worker wrote to stderr, for a message; "" when there is nothing. */
static const char *words_of(struct kgb_judge *judge, const struct kgb_worker *worker)
{
	enum { SHOWN = 300 };
	const struct kgb_buf *text = &worker->stderr_text;
	KGB_AUTO(buf) struct kgb_buf shown = KGB_BUF_INIT(0);
	size_t from = text->len > SHOWN ? text->len - SHOWN : 0;

	if (text->len == 0)
		return "";
	kgb_escape(&shown, text->ptr + from, text->len - from);
	return say(judge, "; it wrote: %s", shown.ptr);
}

static const char *last_words(struct kgb_judge *judge)
{
	return words_of(judge, &judge->runner);
}

static void explain_signal(struct kgb_judge *judge, int signo, struct kgb_failure *failure)
{
	const char *name = sigabbrev_np(signo);

	if (signo == SIGXCPU) {
		failure->code = "verify.timeout";
		failure->message = "the kernel used up its processor time";
	} else if (signo == SIGKILL) {
		failure->code = "verify.oom";
		failure->message =
			"the kernel's process was killed, most likely for lack of memory";
		failure->hint = "Allocate no more than the operator needs.";
	} else {
		failure->code = "verify.crash";
		failure->message = say(judge, "the kernel's process crashed with SIG%s%s",
				       name ? name : "?", last_words(judge));
		failure->hint =
			"Most often an address far outside a tensor: check offsets, strides and masks.";
	}
}

int kgb_judge_explain_end(struct kgb_judge *judge, struct kgb_failure *failure, struct kgb_err *err)
{
	const struct kgb_worker *runner = &judge->runner;

	*failure = (struct kgb_failure){0};
	switch (runner->end) {
	case KGB_WORKER_TIMED_OUT:
		failure->code = "verify.timeout";
		if (kgb_mono_ms() >= judge->deadline_ms)
			failure->message =
				say(judge, "the verification was not finished after %lld s",
				    (long long)(judge->options->timeout_ms / 1000));
		else
			failure->message = say(judge, "the call did not return within %lld s",
					       (long long)(judge->options->call_timeout_ms / 1000));
		failure->hint =
			"Look for a loop that does not end, or for many more programs than the data needs: each "
			"program of an interpreted kernel costs about a millisecond.";
		return 1;
	case KGB_WORKER_SIGNALED:
		explain_signal(judge, runner->end_value, failure);
		return 1;
	case KGB_WORKER_EXITED:
		failure->code = "verify.exit";
		failure->message = say(judge, "the kernel's process exited with status %d%s",
				       runner->end_value, last_words(judge));
		failure->hint = "A kernel file must not end the process.";
		return 1;
	case KGB_WORKER_LIED:
		failure->code = "verify.protocol";
		failure->message =
			say(judge, "the kernel's process broke the protocol: %s", runner->why);
		return 1;
	case KGB_WORKER_ALIVE:
	case KGB_WORKER_LOST:
		break;
	}
	return kgb_fail(err, KGB_ERR_FAILED, "the runner's supervisor is gone");
}

static const char *at_line(struct kgb_judge *judge, const struct kgb_wire_reply *reply)
{
	return reply->line > 0 ? say(judge, " (kernel.py line %u)", reply->line) : "";
}

int kgb_judge_explain_reply(struct kgb_judge *judge, const struct kgb_wire_reply *reply,
			    struct kgb_failure *failure)
{
	const char *text = say(judge, "%s", reply->text);

	*failure = (struct kgb_failure){0};
	/* What it computed elsewhere matters more than how the call ended. */
	if (reply->n_ops > 0) {
		failure->code = "cheat.torch_compute";
		failure->message = say(judge, "%s ran outside the Triton kernels%s%s",
				       reply->ops[0], reply->n_ops > 1 ? ", and so did " : "",
				       reply->n_ops > 1 ? reply->ops[1] : "");
		failure->hint =
			"Compute in @triton.jit functions. Allocation, views, copies and dtype conversion may be "
			"done with torch, nothing else.";
		return 1;
	}
	switch ((enum kgb_wire_status)reply->status) {
	case KGB_WIRE_OK:
		return 0;
	case KGB_WIRE_EXCEPTION:
		failure->code = "verify.exception";
		failure->message = say(judge, "%s%s", text, at_line(judge, reply));
		failure->hint = "The call raised an exception.";
		return 1;
	case KGB_WIRE_EXIT:
		failure->code = "verify.exit";
		failure->message =
			say(judge, "the kernel called %s%s", text, at_line(judge, reply));
		failure->hint = "A kernel file must not end the process.";
		return 1;
	case KGB_WIRE_MEMORY:
		failure->code = "verify.oom";
		failure->message = say(judge, "out of memory: %s%s", text, at_line(judge, reply));
		failure->hint = "Allocate no more than the operator needs.";
		return 1;
	case KGB_WIRE_GUARD:
		failure->code = "verify.out_of_bounds";
		failure->message = say(judge, "%s%s", text, at_line(judge, reply));
		failure->hint =
			"Mask every tl.load and tl.store: offsets must stay below the number of elements.";
		return 1;
	case KGB_WIRE_BAD_REQUEST:
	case KGB_WIRE_N_STATUSES:
		break;
	}
	failure->code = "verify.protocol";
	failure->message = "the kernel's process refused a request";
	return 1;
}

/* ---- workers ---- */

static int send_reference_file(struct kgb_judge *judge, struct kgb_worker *worker, const char *file,
			       struct kgb_err *err)
{
	KGB_AUTO(free) char *path = kgb_path_join(judge->spec.reference_dir, file);
	KGB_AUTO(buf) struct kgb_buf source = KGB_BUF_INIT(KGB_LIMIT_KERNEL);
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(KGB_WIRE_REQUEST_MAX);
	KGB_AUTO(fd) int fd = -1;
	KGB_AUTO(free) struct kgb_wire_reply *reply = kgb_xmalloc(sizeof(*reply));
	struct kgb_jsonw w;

	if (kgb_fs_read(AT_FDCWD, path, KGB_LIMIT_KERNEL, &source, err) < 0 ||
	    kgb_memfd_of("kgb-reference", source.ptr, source.len, &fd, err) < 0)
		return -1;
	kgb_jsonw_init(&w, &text, 0);
	kgb_jsonw_object(&w);
	kgb_jsonw_kstr(&w, "op", "load");
	kgb_jsonw_kstr(&w, "file", file);
	kgb_jsonw_object_end(&w);
	if (kgb_worker_send(worker, text.ptr, &fd, 1, err) < 0)
		return -1;
	if (!kgb_worker_wait(worker, kgb_mono_ms() + START_MS, reply))
		return kgb_fail(err, KGB_ERR_FAILED,
				"the reference process ended while loading '%s'", path);
	if (reply->status != KGB_WIRE_OK)
		return kgb_fail(err, KGB_ERR_FAILED, "reference '%s': %s", path, reply->text);
	return 0;
}

/* "file.py:function" -> the file once; targets of ATen have none. */
static int send_target_file(struct kgb_judge *judge, struct kgb_worker *worker,
			    struct kgb_strv *sent, const char *target, struct kgb_err *err)
{
	const char *colon = strchr(target, ':');

	if (!colon)
		return 0;
	KGB_AUTO(free) char *file = kgb_xstrndup(target, (size_t)(colon - target));
	if (kgb_strv_has(sent, file))
		return 0;
	kgb_strv_add(sent, file);
	return send_reference_file(judge, worker, file, err);
}

/* The spec's Python functions. */
static int send_targets(struct kgb_judge *judge, struct kgb_worker *worker, struct kgb_err *err)
{
	KGB_AUTO(strv) struct kgb_strv sent = KGB_STRV_INIT;

	for (size_t i = 0; i < judge->spec.n_interfaces; i++) {
		const struct kgb_interface *interface = &judge->spec.interfaces[i];
		if (interface->reference == KGB_REFERENCE_PYTHON &&
		    send_target_file(judge, worker, &sent, interface->target, err) < 0)
			return -1;
		if (interface->baseline == KGB_REFERENCE_PYTHON &&
		    send_target_file(judge, worker, &sent, interface->baseline_target, err) < 0)
			return -1;
		if (interface->magnitude == KGB_MAGNITUDE_PYTHON &&
		    send_target_file(judge, worker, &sent, interface->magnitude_target, err) < 0)
			return -1;
	}
	return 0;
}

static int start_trusted(struct kgb_judge *judge, struct kgb_worker *worker, const char *role,
			 struct kgb_err *err)
{
	const struct kgb_worker_spec spec = {
		.role = role,
		.memory_bytes = REFERENCE_MEMORY_BYTES,
		.cpu_s = REFERENCE_CPU_S,
	};

	if (kgb_worker_start(worker, &judge->zygotes[KGB_ROLE_REFERENCE], &spec, START_MS, err) < 0)
		return -1;
	return send_targets(judge, worker, err);
}

int kgb_judge_start_reference(struct kgb_judge *judge, struct kgb_err *err)
{
	KGB_MEASURE(judge, KGB_PHASE_REFERENCE);
	return start_trusted(judge, &judge->reference->worker, "reference", err);
}

void kgb_judge_fill(struct kgb_judge *judge, struct kgb_data *data, const struct kgb_case *c,
		    uint32_t variant)
{
	KGB_MEASURE(judge, KGB_PHASE_FILL);
	kgb_data_fill(data, c, &judge->verdict->seed, variant);
}

static const char *device_name(const struct kgb_judge *judge)
{
	if (judge->options->device == KGB_DEVICE_CPU)
		return "cpu";
	return judge->gpu ? judge->gpu->name : "";
}

/* Was this answered in an earlier verification? */
static bool recall(struct kgb_judge *judge, struct kgb_data *data)
{
	data->truth_key[0] = '\0';
	data->is_recalled = false;
	if (!judge->truths)
		return false;
	const struct kgb_truth_place place = {
		.identity = judge->reference->worker.identity,
		.device = device_name(judge),
		.spec_sha256 = judge->spec.sha256,
	};
	KGB_MEASURE(judge, KGB_PHASE_TRUTH);
	data->is_recalled = kgb_truth_key(&place, data, data->truth_key) &&
			    kgb_truth_recall(judge->truths, data->truth_key, data);
	judge->verdict->n_truths_recalled += data->is_recalled;
	return data->is_recalled;
}

static int ask(struct kgb_judge *judge, const struct kgb_data *data, struct kgb_err *err)
{
	struct kgb_reference *reference = judge->reference;

	KGB_MEASURE(judge, KGB_PHASE_TRUTH);
	return kgb_data_ask(data, &reference->worker, &reference->memory, true,
			    kgb_mono_ms() + REFERENCE_MS, err);
}

int kgb_judge_ask_truth(struct kgb_judge *judge, struct kgb_data *data, struct kgb_err *err)
{
	return recall(judge, data) ? 0 : ask(judge, data, err);
}

int kgb_judge_take_truth(struct kgb_judge *judge, struct kgb_data *data, struct kgb_err *err)
{
	struct kgb_reference *reference = judge->reference;
	const struct kgb_shared *memory = &reference->memory;
	KGB_AUTO(free) struct kgb_wire_reply *reply = NULL;

	if (data->is_recalled)
		return 0;
	KGB_MEASURE(judge, KGB_PHASE_TRUTH);
	reply = kgb_xmalloc(sizeof(*reply));
	if (kgb_data_wait(data, &reference->worker, &reference->memory, true,
			  kgb_mono_ms() + REFERENCE_MS, reply, err) < 0 ||
	    kgb_data_take(data, reply, memory->out, memory->out_bytes, true, err) < 0)
		return -1;
	if (data->truth_key[0])
		kgb_truth_keep(judge->truths, data->truth_key, reply, memory->out);
	return 0;
}

int kgb_judge_learn(struct kgb_judge *judge, struct kgb_data *data, struct kgb_err *err)
{
	if (recall(judge, data))
		return 0;
	pthread_mutex_lock(&judge->reference->lock);
	int rc = ask(judge, data, err);
	if (rc == 0)
		rc = kgb_judge_take_truth(judge, data, err);
	pthread_mutex_unlock(&judge->reference->lock);
	return rc;
}

static void write_load(const struct kgb_judge *judge, struct kgb_buf *text)
{
	struct kgb_jsonw w;

	kgb_jsonw_init(&w, text, 0);
	kgb_jsonw_object(&w);
	kgb_jsonw_kstr(&w, "op", "load");
	kgb_jsonw_key(&w, "entries");
	kgb_jsonw_array(&w);
	for (size_t i = 0; i < judge->spec.n_interfaces; i++)
		kgb_jsonw_str(&w, judge->spec.interfaces[i].entry);
	kgb_jsonw_array_end(&w);
	kgb_jsonw_key(&w, "allow");
	kgb_jsonw_array(&w);
	for (size_t i = 0; i < judge->allowed_ops.n; i++)
		kgb_jsonw_str(&w, judge->allowed_ops.items[i]);
	kgb_jsonw_array_end(&w);
	kgb_jsonw_object_end(&w);
}

/* Until here nothing of the candidate has run: what goes wrong (no GPU, a driver too old for torch,
 * no memory for a context) is ours. */
static int await_ready(struct kgb_judge *judge, struct kgb_worker *worker, struct kgb_err *err)
{
	KGB_AUTO(free) struct kgb_wire_reply *reply = kgb_xmalloc(sizeof(*reply));

	if (kgb_worker_send(worker, "{\"op\":\"ready\"}", NULL, 0, err) < 0)
		return -1;
	if (!kgb_worker_wait(worker, kgb_mono_ms() + START_MS, reply))
		return kgb_fail(err, KGB_ERR_UNAVAILABLE,
				"the process for the kernel does not start%s",
				words_of(judge, worker));
	if (reply->status != KGB_WIRE_OK)
		return kgb_fail(err, KGB_ERR_FAILED, "the process for the kernel: %.300s",
				reply->text);
	return 0;
}

/* Start a jailed process and have it load a kernel file; the reply to that is still to come. */
static int send_kernel(struct kgb_judge *judge, struct kgb_worker *worker,
		       const struct kgb_buf *source, struct kgb_err *err)
{
	KGB_AUTO(fd) int kernel = -1;
	KGB_AUTO(buf) struct kgb_buf text = KGB_BUF_INIT(KGB_WIRE_REQUEST_MAX);

	if (kgb_memfd_of("kgb-kernel", source->ptr, source->len, &kernel, err) < 0)
		return -1;
	const struct kgb_worker_spec spec = {
		.role = "runner",
		.memory_bytes = judge->options->memory_bytes,
		.cpu_s = judge->options->timeout_ms / 1000 + 1,
		.tmp_bytes = kgb_runner_tmp_bytes(judge->options->device),
		.fds = {kernel},
		.n_fds = 1,
	};
	if (kgb_worker_start(worker, &judge->zygotes[KGB_ROLE_RUNNER], &spec, START_MS, err) < 0)
		return -1;
	if (await_ready(judge, worker, err) < 0)
		return -1;
	write_load(judge, &text);
	if (text.overflowed)
		return kgb_fail(err, KGB_ERR_LIMIT, "the load request is too long");
	return kgb_worker_send(worker, text.ptr, NULL, 0, err);
}

/* What the candidate is measured against is another kernel file. */
static int load_baseline_kernel(struct kgb_judge *judge, const char *path, struct kgb_err *err)
{
	KGB_AUTO(buf) struct kgb_buf source = KGB_BUF_INIT(KGB_LIMIT_KERNEL);
	KGB_AUTO(free) struct kgb_wire_reply *reply = kgb_xmalloc(sizeof(*reply));

	if (kgb_fs_read(AT_FDCWD, path, KGB_LIMIT_KERNEL, &source, err) < 0 ||
	    send_kernel(judge, &judge->baseline, &source, err) < 0)
		return -1;
	if (!kgb_worker_wait(&judge->baseline, kgb_judge_call_deadline(judge), reply))
		return kgb_fail(err, KGB_ERR_FAILED, "baseline '%s': its process ended", path);
	if (reply->status != KGB_WIRE_OK)
		return kgb_fail(err, KGB_ERR_FAILED, "baseline '%s': %.300s", path, reply->text);
	return 0;
}

int kgb_judge_start_baseline(struct kgb_judge *judge, struct kgb_err *err)
{
	const struct kgb_judge_options *options = judge->options;

	KGB_MEASURE(judge, KGB_PHASE_BASELINE);
	if (options->baseline == KGB_BASELINE_KERNEL)
		return load_baseline_kernel(judge, options->baseline_path, err);
	return start_trusted(judge, &judge->baseline,
			     options->baseline == KGB_BASELINE_COMPILE ? "compiled" : "baseline",
			     err);
}

int kgb_judge_load(struct kgb_judge *judge, struct kgb_failure *failure, struct kgb_err *err)
{
	KGB_AUTO(free) struct kgb_wire_reply *reply = kgb_xmalloc(sizeof(*reply));

	KGB_MEASURE(judge, KGB_PHASE_RUNNER);
	kgb_worker_stop(&judge->runner);
	kgb_shared_release(&judge->runner_memory);
	if (send_kernel(judge, &judge->runner, &judge->source, err) < 0)
		return -1;
	memcpy(judge->verdict->python, judge->runner.python, sizeof(judge->verdict->python));
	memcpy(judge->verdict->torch, judge->runner.torch, sizeof(judge->verdict->torch));
	memcpy(judge->verdict->triton, judge->runner.triton, sizeof(judge->verdict->triton));
	if (!kgb_worker_wait(&judge->runner, kgb_judge_call_deadline(judge), reply))
		return kgb_judge_explain_end(judge, failure, err);
	return kgb_judge_explain_reply(judge, reply, failure);
}

/* ---- the whole ---- */

/* verify/policy/dispatch.yaml: {allow: [names]} */
static int load_dispatch_policy(struct kgb_judge *judge, struct kgb_err *err)
{
	KGB_AUTO(free)
	char *path = kgb_path_join(judge->options->data_dir, "verify/policy/dispatch.yaml");
	KGB_AUTO(yaml) struct kgb_yaml doc = KGB_YAML_INIT;
	const cJSON *name;

	if (kgb_yaml_read(AT_FDCWD, path, &doc, err) < 0)
		return -1;
	const cJSON *allow = kgb_json_get(doc.root, "allow");
	if (!cJSON_IsArray(allow))
		return kgb_fail(err, KGB_ERR_INVALID,
				"%s: 'allow' must be a list of torch operators", path);
	cJSON_ArrayForEach(name, allow) {
		if (!cJSON_IsString(name))
			return kgb_yaml_fail(&doc, name, err, "allow: not a name");
		kgb_strv_add(&judge->allowed_ops, name->valuestring);
	}
	return 0;
}

static int load_inputs(struct kgb_judge *judge, struct kgb_err *err)
{
	KGB_AUTO(free)
	char *policy = kgb_path_join(judge->options->data_dir, "verify/policy/l1.yaml");

	if (kgb_spec_load(judge->options->spec_path, &judge->spec, err) < 0)
		return -1;
	if (kgb_cases_expand(&judge->spec, &judge->cases, err) < 0 ||
	    kgb_l1_load(policy, &judge->l1, err) < 0 || load_dispatch_policy(judge, err) < 0)
		return -1;
	return 0;
}

/* 0 read, 1 decided (a file that no kernel may be), -1 error of the caller. */
static int read_kernel(struct kgb_judge *judge, struct kgb_err *err)
{
	KGB_AUTO(fd) int dir = -1;
	const char *path = judge->options->kernel_path;
	const char *slash = strrchr(path, '/');
	KGB_AUTO(free)
	char *dir_path = slash ? kgb_xstrndup(path, (size_t)(slash - path) + 1) : kgb_xstrdup(".");
	struct kgb_err read_err = KGB_ERR_INIT;

	if (kgb_fs_opendir(AT_FDCWD, dir_path, &dir, err) < 0)
		return -1;
	if (kgb_fs_read_untrusted(dir, slash ? slash + 1 : path, KGB_LIMIT_KERNEL, &judge->source,
				  &read_err) == 0) {
		kgb_sha256_hex(judge->source.ptr, judge->source.len, judge->verdict->kernel_sha256);
		return 0;
	}
	if (read_err.kind != KGB_ERR_LIMIT && read_err.kind != KGB_ERR_DENIED) {
		*err = read_err;
		return -1;
	}
	const struct kgb_failure failure = {
		.code = read_err.kind == KGB_ERR_LIMIT ? "contract.too_large"
						       : "contract.not_a_file",
		.message = say(judge, "%s", read_err.msg),
		.hint = say(judge, "kernel.py must be a regular file of at most %u KiB.",
			    KGB_LIMIT_KERNEL / 1024),
	};
	kgb_verdict_decide(judge->verdict, KGB_STAGE_CONTRACT, &failure);
	return 1;
}

static int start_zygotes(struct kgb_judge *judge, struct kgb_err *err)
{
	const struct kgb_judge_options *options = judge->options;
	const struct kgb_zygote_spec spec = {.python = options->python,
					     .data_dir = options->data_dir,
					     .library = options->library,
					     .device = options->device,
					     .trace_library = options->trace_library,
					     .cupti = options->cupti};

	for (int role = 0; role < KGB_N_ROLES; role++) {
		struct kgb_zygote *zygote = &judge->zygotes[role];
		if (!kgb_role_is_needed((enum kgb_role)role, options->device))
			continue;
		if (options->zygote_dir)
			kgb_zygote_use(zygote, (enum kgb_role)role, options->zygote_dir);
		else if (kgb_zygote_start(zygote, (enum kgb_role)role, &spec, err) < 0)
			return -1;
	}
	for (int role = 0; role < KGB_N_ROLES && !options->zygote_dir; role++)
		if (kgb_role_is_needed((enum kgb_role)role, options->device) &&
		    kgb_zygote_wait_ready(&judge->zygotes[role], READY_MS, err) < 0)
			return -1;
	return 0;
}

static void run_stages(struct kgb_judge *judge)
{
	static int (*const stages[])(struct kgb_judge *) = {
		kgb_stage_static,
		kgb_stage_correctness,
		kgb_stage_ghost,
		kgb_stage_timing,
	};
	struct kgb_stage_result *l3 = &judge->verdict->stages[KGB_STAGE_L3];

	judge->verdict->platform = judge->options->device == KGB_DEVICE_CPU ? "cpu" : "cuda";
	if (judge->options->device == KGB_DEVICE_CPU) {
		l3->status = KGB_STAGE_UNAVAILABLE;
		l3->message = "the cpu platform has no device trace";
	}
	for (size_t i = 0; i < KGB_ARRAY_LEN(stages); i++)
		if (stages[i](judge) != 0)
			return;
	/* Whose code every launch ran was proved case by case, before it was replayed. */
	if (judge->replay)
		l3->status = KGB_STAGE_PASSED;
}

static int run(struct kgb_judge *judge, struct kgb_err *err)
{
	struct kgb_verdict *verdict = judge->verdict;

	if (load_inputs(judge, err) < 0)
		return -1;
	verdict->operator_name = kgb_arena_strdup(&verdict->arena, judge->spec.name);
	memcpy(verdict->spec_sha256, judge->spec.sha256, sizeof(verdict->spec_sha256));
	verdict->total_tests = (int64_t)judge->cases.n;
	verdict->n_interfaces = judge->spec.n_interfaces;
	verdict->interfaces = kgb_arena_array(&verdict->arena, judge->spec.n_interfaces,
					      sizeof(verdict->interfaces[0]));
	for (size_t i = 0; i < judge->spec.n_interfaces; i++)
		verdict->interfaces[i].entry =
			kgb_arena_strdup(&verdict->arena, judge->spec.interfaces[i].entry);
	for (size_t i = 0; i < judge->cases.n; i++)
		verdict->interfaces[judge->cases.items[i].interface - judge->spec.interfaces]
			.total++;

	int rc = read_kernel(judge, err);
	if (rc < 0)
		return -1;
	if (kgb_isolation_probe(NULL, NULL, &verdict->isolation, err) < 0)
		return -1;
	verdict->has_isolation = true;
	if (rc == 1)
		return 0;
	if (start_zygotes(judge, err) < 0)
		return -1;
	/* The clock of the verification starts when the candidate's own work does. */
	judge->deadline_ms = kgb_mono_ms() + judge->options->timeout_ms;
	kgb_health_watch(judge);
	run_stages(judge);
	kgb_health_check(judge);
	kgb_verdict_close(verdict, judge->spec.triton == KGB_TRITON_REQUIRED);
	return 0;
}

void kgb_judge_init_lane(struct kgb_judge *judge)
{
	judge->runner = (struct kgb_worker)KGB_WORKER_INIT;
	judge->reference = kgb_xmalloc(sizeof(*judge->reference));
	*judge->reference = (struct kgb_reference)KGB_REFERENCE_INIT;
	judge->reference_is_lent = false;
	judge->baseline = (struct kgb_worker)KGB_WORKER_INIT;
	judge->runner_memory = (struct kgb_shared){0};
	judge->baseline_memory = (struct kgb_shared){0};
	judge->image = (struct kgb_buf)KGB_BUF_INIT(0);
	judge->after = (struct kgb_buf)KGB_BUF_INIT(0);
	judge->replay = NULL;
	judge->ghost = (struct kgb_failure){0};
	judge->no_launch_case = NULL;
}

void kgb_judge_release_lane(struct kgb_judge *judge)
{
	KGB_MEASURE(judge, KGB_PHASE_END);
	/* All of them first: to take down a CUDA context takes its time. */
	kgb_worker_kill(&judge->runner);
	kgb_worker_kill(&judge->baseline);
	if (!judge->reference_is_lent)
		kgb_worker_kill(&judge->reference->worker);
	if (judge->replay && !judge->replay->replayer_is_lent)
		kgb_exec_kill(&judge->replay->replayer->exec);
	kgb_replay_free(judge->replay);
	kgb_worker_stop(&judge->runner);
	if (!judge->reference_is_lent) {
		kgb_worker_stop(&judge->reference->worker);
		kgb_shared_release(&judge->reference->memory);
		kgb_free(judge->reference);
	}
	kgb_worker_stop(&judge->baseline);
	kgb_shared_release(&judge->baseline_memory);
	kgb_shared_release(&judge->runner_memory);
	kgb_buf_release(&judge->image);
	kgb_buf_release(&judge->after);
}

static void release(struct kgb_judge *judge)
{
	kgb_judge_release_lane(judge);
	kgb_gpu_facts_free(judge->gpu);
	kgb_lease_give(&judge->lease);
	for (int role = 0; role < KGB_N_ROLES; role++)
		kgb_zygote_stop(&judge->zygotes[role]);
	kgb_buf_release(&judge->source);
	kgb_strv_release(&judge->allowed_ops);
	kgb_l1_free(judge->l1);
	kgb_free(judge->noise);
	kgb_free(judge->wants_ablation);
	kgb_free(judge->n_ablated);
	kgb_cases_release(&judge->cases);
	kgb_spec_release(&judge->spec);
	kgb_store_free(judge->truths);
	kgb_store_free(judge->proofs);
}

static struct kgb_store *open_store(const char *kind, size_t entry_max, uint64_t total_max)
{
	KGB_AUTO(free) char *dir = kgb_cache_dir(kind);
	struct kgb_store *store = NULL;
	struct kgb_err err = KGB_ERR_INIT;

	if (dir && kgb_store_new(&store, dir, entry_max, total_max, &err) < 0)
		kgb_warn("nothing is kept for later verifications: %s", err.msg);
	return store;
}

/* Random inputs never come again: then there is no use in keeping what is right for them. */
static void open_stores(struct kgb_judge *judge)
{
	const struct kgb_judge_options *options = judge->options;

	if (options->has_seed && !options->no_cache)
		judge->truths =
			open_store("truths", KGB_TRUTH_CACHE_ENTRY_MAX, KGB_TRUTH_CACHE_TOTAL_MAX);
	if (options->device != KGB_DEVICE_CPU && !options->no_cache)
		judge->proofs =
			open_store("proofs", KGB_PROOF_CACHE_ENTRY_MAX, KGB_PROOF_CACHE_TOTAL_MAX);
}

int kgb_judge_run(const struct kgb_judge_options *options, struct kgb_verdict *verdict,
		  struct kgb_err *err)
{
	struct kgb_judge judge = {
		.options = options,
		.verdict = verdict,
		.source = KGB_BUF_INIT(KGB_LIMIT_KERNEL + 1),
		.lease = KGB_LEASE_NONE,
	};
	struct kgb_rng rng;
	int64_t started_ms = kgb_mono_ms();

	kgb_judge_init_lane(&judge);
	open_stores(&judge);
	if (options->has_seed)
		verdict->seed = options->seed;
	else
		kgb_random(verdict->seed.bytes, sizeof(verdict->seed.bytes));
	verdict->final_mode = options->final_mode;
	judge.noise = kgb_xmalloc(KGB_NOISE_BYTES);
	kgb_rng_init(&rng, &verdict->seed, "noise", 0);
	kgb_rng_bytes(&rng, judge.noise, KGB_NOISE_BYTES);
	int rc = run(&judge, err);
	release(&judge);
	verdict->wall_ms = kgb_mono_ms() - started_ms;
	return rc;
}
